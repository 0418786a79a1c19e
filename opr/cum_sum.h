// CumSum: running sums along an axis.
#ifndef ASHLAR_OPR_CUM_SUM_H_
#define ASHLAR_OPR_CUM_SUM_H_

#include "opr/base/along_axis.h"

namespace ashlar {

struct CumSumParam {
  int64_t axis = 0;        // negative: from the end
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // sums from the end

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
    v.Optional("exclusive", exclusive, false);
    v.Optional("reverse", reverse, false);
  }
};

// Input: numbers of rank 1 or more. Output: its type; integer sums outside of the dtype's range
// saturate.
class CumSum final : public OperatorWithParam<CumSumParam, AlongAxis<CumSum, RowWiseOperator>> {
 public:
  ASHLAR_OPERATOR("CumSum", "cum_sum")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CUM_SUM_H_
