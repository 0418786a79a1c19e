// ConvBiasForward: convolution, bias, residual and activation in one operator.
#ifndef ASHLAR_OPR_CONV_BIAS_H_
#define ASHLAR_OPR_CONV_BIAS_H_

#include "opr/conv_param.h"
#include "opr/elemwise.h"

namespace ashlar {

// Returns nonlineMode as the equivalent Elemwise.
inline ElemwiseParam ActivationParam(const ConvBiasParam& param) {
  return {param.nonlineMode, param.parameters};
}

// nonlineMode(convolution(src, filter) + bias + z). Inputs: src, filter, bias [1, oc, 1, 1] and
// optionally z, with the output's shape. Output: [N, oc, oh, ow]. Quantised images:
// opr/quantized_conv.h. Only passes set the bounds of src, on devices that run chains. The same
// holds for integer sums, on devices with Device::adds_quantized.
class ConvBiasForward final
    : public OperatorWithParam<ConvBiasParam, PaddedWindowOperator<ConvBiasForward>>,
      public ConvBiasInputs {
 public:
  ASHLAR_OPERATOR("ConvBiasForward", "conv_bias")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  std::optional<Replacement> Absorb(absl::Span<const InputInfo> inputs,
                                    const Consumer& consumer) const override;
  std::optional<Replacement> AbsorbQuantized(absl::Span<const InputInfo> inputs,
                                             const Consumer& consumer) const override;
  std::optional<Replacement> AbsorbAffine(absl::Span<const InputInfo> inputs,
                                          const ChannelAffine& affine) const override;
  std::optional<Unclamped> WithoutClamp(absl::Span<const InputInfo> inputs) const override;
  std::shared_ptr<const Operator> ClampingInput(absl::Span<const InputInfo> inputs, int input,
                                                double low, double high) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;
  std::vector<double> ChannelShares(absl::Span<const InputInfo> inputs) const override;
  std::optional<Replacement> AbsorbInputScales(absl::Span<const InputInfo> inputs,
                                               absl::Span<const double> scales) const override;
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;

 protected:
  absl::StatusOr<WindowAxes> WindowsOf(absl::Span<const InputInfo> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_BIAS_H_
