#include "opr/convolution_filter_update.h"

#include "graph/graph_builder.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(ConvolutionFilterUpdate)

absl::StatusOr<std::vector<TensorType>> ConvolutionFilterUpdate::Infer(
    absl::Span<const InputInfo> inputs) const {
  return ConvolutionBackwardFilter(param()).Infer(inputs);
}

absl::StatusOr<std::vector<HostTensor>> ConvolutionFilterUpdate::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> gradient,
                          ConvolutionBackwardFilter(param()).Evaluate(inputs));
  return AddUpdate({param().alpha, 1, 0}).Evaluate({inputs[kDest], gradient[0]});
}

int64_t ConvolutionFilterUpdate::Computation(const Site& site) const {
  return ConvolutionBackwardFilter(param()).Computation(site);
}

Aliasing ConvolutionFilterUpdate::aliasing(const Site& /*site*/) const {
  return UpdatesInput(kDest);
}

}  // namespace ashlar
