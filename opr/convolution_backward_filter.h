// ConvolutionBackwardFilter: the gradient of a convolution's filter.
#ifndef ASHLAR_OPR_CONVOLUTION_BACKWARD_FILTER_H_
#define ASHLAR_OPR_CONVOLUTION_BACKWARD_FILTER_H_

#include "opr/convolution.h"

namespace ashlar {

// The convolution that goes back. `diff` is the gradient of its output; errors are
// InvalidArgument: the errors of InferConvolution, or `diff` has another type than the output.
absl::StatusOr<ConvolutionGeometry> InferBackwardFilter(const ConvolutionParam& param,
                                                        const TensorType& src,
                                                        const TensorType& diff,
                                                        const TensorType& filter);

// dW[oc, ic, kh, kw] = sum over n, y, x of diff[n, oc, y, x] times the element of x that the
// convolution multiplied that weight with. Inputs: the convolution's image; the gradient of its
// output; its filter, of which only the shape is read. Output: the filter's type.
class ConvolutionBackwardFilter final : public OperatorWithParam<ConvolutionParam> {
 public:
  static constexpr int kSrc = 0, kDiff = 1, kFilter = 2;

  ASHLAR_OPERATOR("ConvolutionBackwardFilter", "conv_filter_grad")
  // Tap by tap a product of matrices, the gradient's pixels by the image's below that tap; for
  // windows of single channels, a sum of products of elements.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  InputUse input_use(int input) const override {
    return input == kFilter ? InputUse::kShape : InputUse::kDeviceValue;
  }
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kImageInputs, .precision = PrecisionRule::kLow};
  }
  int64_t Computation(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION_BACKWARD_FILTER_H_
