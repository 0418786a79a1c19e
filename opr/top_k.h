// TopK: the largest or smallest elements along an axis, and their indices.
#ifndef ASHLAR_OPR_TOP_K_H_
#define ASHLAR_OPR_TOP_K_H_

#include "opr/base/axis.h"
#include "opr/base/base.h"
#include "opr/base/comes_before.h"

namespace ashlar {

struct TopKParam {
  int64_t axis = -1;  // negative: from the end
  int64_t k = 1;
  bool largest = true;

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
    v("k", k);
    v.Optional("largest", largest, true);
  }
};

// Input: numbers. Outputs: the k elements in order, of the input's dtype; and their indices along
// the axis, Int64.
class TopK final : public OperatorWithParam<TopKParam> {
 public:
  ASHLAR_OPERATOR("TopK", "top_k")
  absl::Status Gradient(GradientContext& context) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_TOP_K_H_
