// The base of ConvolutionForward and ConvBiasForward: the rules in which a convolution without bias
// is one whose bias is 0.
#ifndef ASHLAR_OPR_CONVOLUTION_OPERATOR_H_
#define ASHLAR_OPR_CONVOLUTION_OPERATOR_H_

#include "opr/conv_param.h"

namespace ashlar {

template <typename Op>
class ConvolutionOperator : public PaddedWindowOperator<Op> {
 public:
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
  // Supports windows that are the whole image, and constant filters: each strip meets its rows of
  // the filter, and is added to the sum of those before. Integer sums are not rounded in between.
  std::optional<Replacement> JoinRows(const Range& rows, const Site& site) const override;
  // Supports filters of 1 x 1 on an image of one pixel.
  std::optional<Replacement> ReadingImage(absl::Span<const InputInfo> inputs, const Shape& image,
                                          absl::Span<const int64_t> axes) const override;

 protected:
  absl::StatusOr<WindowAxes> WindowsOf(absl::Span<const InputInfo> inputs) const override {
    return InferConvolution(this->self().param(), inputs[ConvBiasInputs::kSrc].type,
                            inputs[ConvBiasInputs::kFilter].type);
  }

 private:
  ConvBiasParam WithBias() const { return ConvBiasParam{this->self().param()}; }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION_OPERATOR_H_
