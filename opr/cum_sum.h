// CumSum: sums of the elements up to each, along an axis.
#ifndef ASHLAR_OPR_CUM_SUM_H_
#define ASHLAR_OPR_CUM_SUM_H_

#include "opr/along_axis.h"

namespace ashlar {

struct CumSumParam {
  int64_t axis = 0;        // negative: from the end
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the end on

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
    v.Optional("exclusive", exclusive, false);
    v.Optional("reverse", reverse, false);
  }
};

// Input: numbers of rank 1 or more. Output: its type; sums of integers that leave the dtype's range
// stay at its end.
class CumSum final : public OperatorWithParam<CumSumParam, AlongAxis<CumSum, RowWiseOperator>> {
 public:
  ASHLAR_OPERATOR("CumSum", "cum_sum")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CUM_SUM_H_
