// CrossEntropy: the mean classification loss, including the softmax; and its gradient.
#ifndef ASHLAR_OPR_CROSS_ENTROPY_H_
#define ASHLAR_OPR_CROSS_ENTROPY_H_

#include "opr/base/base.h"

namespace ashlar {

// The first inputs of both operators: logits [N, K], floats, N > 0; labels [N], Int32 or Int64 in
// [0, K). A label out of range is a run-time error; if the operator runs as a composition, such a
// label belongs to no class.
class CrossEntropyOperator : public Operator {
 public:
  static constexpr int kLogits = 0, kLabels = 1;
  int64_t Computation(const Site& site) const override;
};

// The mean over the rows of -log softmax(logits)[label]. Output: {1}, of the logits' dtype.
class CrossEntropy final : public OperatorWithParam<NoParam, CrossEntropyOperator> {
 public:
  ASHLAR_OPERATOR("CrossEntropy", "cross_entropy")
  absl::Status Gradient(GradientContext& context) const override;
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

// (softmax(logits) - 1 at the label) diff / N. `diff`, the third input, is the gradient with
// respect to the loss, {1}. The softmax is recomputed. Output: the logits' type; it may overwrite
// them.
class CrossEntropyBackward final : public OperatorWithParam<NoParam, CrossEntropyOperator> {
 public:
  static constexpr int kDiff = 2;
  ASHLAR_OPERATOR("CrossEntropyBackward", "cross_entropy_grad")
  Aliasing aliasing(const Site& site) const override;
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

// OutOfRange for the first label outside [0, classes).
absl::Status CheckLabels(const void* labels, DType dtype, int64_t count, int64_t classes);

}  // namespace ashlar

#endif  // ASHLAR_OPR_CROSS_ENTROPY_H_
