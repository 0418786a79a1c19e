// TypeCvt: the same values in another dtype, rounded and saturated.
#ifndef ASHLAR_OPR_TYPE_CVT_H_
#define ASHLAR_OPR_TYPE_CVT_H_

#include "opr/pointwise.h"

namespace ashlar {

struct TypeCvtParam {
  DType dtype = DType::kFloat32;

  template <typename V>
  void Visit(V& v) {
    v("dtype", dtype, DTypeNames());
  }
};

// To integers: towards zero, saturated, NaN to 0. To Bool: whether it is not zero.
class TypeCvt final : public OperatorWithParam<TypeCvtParam, PointwiseOperator> {
 public:
  ASHLAR_OPERATOR("TypeCvt", "typecvt")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_TYPE_CVT_H_
