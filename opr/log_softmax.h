// LogSoftmax: the logarithm of a softmax along one axis.
#ifndef ASHLAR_OPR_LOG_SOFTMAX_H_
#define ASHLAR_OPR_LOG_SOFTMAX_H_

#include "opr/base/along_axis.h"
#include "opr/softmax.h"

namespace ashlar {

// x - max - log(sum of exp(x - max)), maximum and sum along the axis. Input: floats of rank 1 or
// more. Output: SoftmaxDType.
class LogSoftmax final
    : public OperatorWithParam<SoftmaxParam, AlongAxis<LogSoftmax, RowWiseOperator>> {
 public:
  ASHLAR_OPERATOR("LogSoftmax", "log_softmax")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_LOG_SOFTMAX_H_
