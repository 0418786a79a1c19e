// SoftmaxBackward: the gradient with respect to the input of a softmax.
#ifndef ASHLAR_OPR_SOFTMAX_BACKWARD_H_
#define ASHLAR_OPR_SOFTMAX_BACKWARD_H_

#include "opr/base/along_axis.h"
#include "opr/softmax.h"

namespace ashlar {

// y (diff - sum of y diff), with the sum along the axis. Inputs: y, the output of the softmax, and
// the gradient with respect to it, floats of one type. Output: their type.
class SoftmaxBackward final
    : public OperatorWithParam<SoftmaxParam, AlongAxis<SoftmaxBackward, RowWiseOperator>> {
 public:
  static constexpr int kY = 0, kDiff = 1;

  ASHLAR_OPERATOR("SoftmaxBackward", "softmax_grad")
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_SOFTMAX_BACKWARD_H_
