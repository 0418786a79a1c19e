// TypeCvt: converts values to another dtype, rounded and saturated; QuantizeLinear and
// DequantizeLinear.
#ifndef ASHLAR_OPR_TYPE_CVT_H_
#define ASHLAR_OPR_TYPE_CVT_H_

#include "opr/base/output_type.h"
#include "opr/base/pointwise.h"

namespace ashlar {

struct TypeCvtParam {
  DType dtype = DType::kFloat32;
  double scale = 0;  // for a quantised dtype, with the zero point
  int64_t zero_point = 0;

  template <typename V>
  void Visit(V& v) {
    v("dtype", dtype, DTypeNames());
    v.Optional("scale", scale, 0.0);
    v.Optional("zero_point", zero_point, int64_t{0});
  }
};

// Conversions:
// - Floats to integers: towards zero, saturated, NaN to 0.
// - Integers to integers: upper bits that do not fit are dropped.
// - Integers to floats: the nearest Float32, which 16-bit floats round once more.
// - To Bool: whether the value is not zero.
// - Floats to a quantised 8-bit dtype: rint(x / scale) + zero point, half to even, saturated.
// - Any quantised dtype to Float32: (x - zero point) * scale; there may be several scales.
// - A quantised dtype to the integers that store it, and back: the integers stay.
class TypeCvt final : public OperatorWithParam<TypeCvtParam, PointwiseOperator> {
 public:
  ASHLAR_OPERATOR("TypeCvt", "typecvt")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_TYPE_CVT_H_
