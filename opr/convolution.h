// ConvolutionForward: 2-D convolution without bias.
#ifndef ASHLAR_OPR_CONVOLUTION_H_
#define ASHLAR_OPR_CONVOLUTION_H_

#include "opr/conv_param.h"

namespace ashlar {

// Inputs: src, filter. Output: [N, oc, oh, ow].
class ConvolutionForward final
    : public OperatorWithParam<ConvolutionParam, PaddedWindowOperator<ConvolutionForward>> {
 public:
  ASHLAR_OPERATOR("ConvolutionForward", "conv")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
  std::optional<Replacement> Absorb(absl::Span<const InputInfo> inputs,
                                    const Consumer& consumer) const override;
  std::optional<Replacement> AbsorbAffine(absl::Span<const InputInfo> inputs,
                                          const ChannelAffine& affine) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;
  std::vector<double> ChannelShares(absl::Span<const InputInfo> inputs) const override;
  std::optional<Replacement> AbsorbInputScales(absl::Span<const InputInfo> inputs,
                                               absl::Span<const double> scales) const override;

 protected:
  absl::StatusOr<WindowAxes> WindowsOf(absl::Span<const InputInfo> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION_H_
