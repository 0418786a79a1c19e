// ConvolutionFilterUpdate: computes the gradient of a convolution's filter and adds it to its
// momentum.
#ifndef ASHLAR_OPR_CONVOLUTION_FILTER_UPDATE_H_
#define ASHLAR_OPR_CONVOLUTION_FILTER_UPDATE_H_

#include "opr/convolution_backward_filter.h"
#include "opr/update.h"

namespace ashlar {

using ConvolutionFilterUpdateParam = AddingParam<ConvolutionParam>;

// alpha * dest + dW. Inputs: image and output gradient as for ConvolutionBackwardFilter; dest, of
// the filter's type. Output: dest after the update, in its storage if dest is a state.
class ConvolutionFilterUpdate final : public OperatorWithParam<ConvolutionFilterUpdateParam> {
 public:
  static constexpr int kSrc = 0, kDiff = 1, kDest = 2;

  ASHLAR_OPERATOR("ConvolutionFilterUpdate", "conv_filter_update")
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kImageInputs};
  }
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site&) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION_FILTER_UPDATE_H_
