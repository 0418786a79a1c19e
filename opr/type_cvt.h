// TypeCvt: the same values in another dtype, rounded and saturated; QuantizeLinear and
// DequantizeLinear.
#ifndef ASHLAR_OPR_TYPE_CVT_H_
#define ASHLAR_OPR_TYPE_CVT_H_

#include "opr/output_type.h"
#include "opr/pointwise.h"

namespace ashlar {

struct TypeCvtParam {
  DType dtype = DType::kFloat32;
  double scale = 0;  // of a quantised dtype, with the zero point
  int64_t zero_point = 0;

  template <typename V>
  void Visit(V& v) {
    v("dtype", dtype, DTypeNames());
    v.Optional("scale", scale, 0.0);
    v.Optional("zero_point", zero_point, int64_t{0});
  }
};

// From floats to integers: towards zero, saturated, NaN to 0. From integers to integers: without
// the upper bits that the dtype lacks. From integers to floats: the nearest Float32, which 16 bits
// round once more. To Bool: whether it is not zero. From floats to a quantised dtype of 8 bits:
// rint(x / scale) + zero point, half to even, saturated; from any quantised dtype to Float32: (x -
// zero point) * scale, where there may be several scales. Between a quantised dtype and the
// integers that it is stored as the integers stay.
class TypeCvt final : public OperatorWithParam<TypeCvtParam, PointwiseOperator> {
 public:
  ASHLAR_OPERATOR("TypeCvt", "typecvt")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_TYPE_CVT_H_
