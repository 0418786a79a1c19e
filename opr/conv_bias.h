// ConvBiasForward: convolution, bias, residual and activation in one operator.
#ifndef ASHLAR_OPR_CONV_BIAS_H_
#define ASHLAR_OPR_CONV_BIAS_H_

#include "opr/convolution_operator.h"
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
    : public OperatorWithParam<ConvBiasParam, ConvolutionOperator<ConvBiasForward>>,
      public ConvBiasInputs {
 public:
  ASHLAR_OPERATOR("ConvBiasForward", "conv_bias")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  std::optional<Replacement> AbsorbQuantized(absl::Span<const InputInfo> inputs,
                                             const Consumer& consumer) const override;
  std::optional<Unclamped> WithoutClamp(absl::Span<const InputInfo> inputs) const override;
  std::shared_ptr<const Operator> ClampingInput(absl::Span<const InputInfo> inputs, int input,
                                                double low, double high) const override;
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_BIAS_H_
