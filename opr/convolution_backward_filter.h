// ConvolutionBackwardFilter: the gradient of a convolution's filter.
#ifndef ASHLAR_OPR_CONVOLUTION_BACKWARD_FILTER_H_
#define ASHLAR_OPR_CONVOLUTION_BACKWARD_FILTER_H_

#include "opr/convolution.h"

namespace ashlar {

// Infers the forward convolution. `diff` is the gradient of its output. InvalidArgument for the
// errors of InferConvolution, or if `diff` does not have the output's type.
absl::StatusOr<ConvolutionGeometry> InferBackwardFilter(const ConvolutionParam& param,
                                                        const TensorType& src,
                                                        const TensorType& diff,
                                                        const TensorType& filter);

// dW[oc, ic, kh, kw] = sum over n, y, x of diff[n, oc, y, x] times the image element that the
// convolution multiplied with that weight for that output. Inputs: the convolution's image; the
// gradient of its output; its filter, of which only the shape is read. Output: the filter's type.
class ConvolutionBackwardFilter final : public OperatorWithParam<ConvolutionParam> {
 public:
  static constexpr int kSrc = 0, kDiff = 1, kFilter = 2;

  ASHLAR_OPERATOR("ConvolutionBackwardFilter", "conv_filter_grad")
  // One matrix product per tap: the gradient's pixels by the image's pixels under that tap. For
  // windows of single channels, a sum of elementwise products.
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
