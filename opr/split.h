// Split: cuts a tensor into pieces along one axis.
#ifndef ASHLAR_OPR_SPLIT_H_
#define ASHLAR_OPR_SPLIT_H_

#include "opr/base/axis.h"
#include "opr/base/moving.h"

namespace ashlar {

struct SplitParam {
  int64_t axis = 0;            // negative: from the end
  std::vector<int64_t> sizes;  // of the pieces along the axis; their sum is the axis's size

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
    v("sizes", sizes);
  }
};

// Input: a tensor of rank 1 or more. Outputs: its pieces, in order. They are views of it if the
// axis is the outermost one longer than 1.
class Split final : public OperatorWithParam<SplitParam, MovingOperator> {
 public:
  ASHLAR_OPERATOR("Split", "split")
  absl::Status Gradient(GradientContext& context) const override;
  // Composes Subtensors.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_SPLIT_H_
