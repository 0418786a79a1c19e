// ElemwiseMultiType: a scalar function of quantised elements, rounded to another quantised type.
#ifndef ASHLAR_OPR_ELEMWISE_MULTI_TYPE_H_
#define ASHLAR_OPR_ELEMWISE_MULTI_TYPE_H_

#include <array>
#include <vector>

#include "opr/base/fixed_point_sum.h"
#include "opr/base/output_type.h"
#include "opr/elemwise.h"

namespace ashlar {

struct ElemwiseMultiTypeParam : ElemwiseParam {
  OutputType output = {};
  // The output's integers by the only input's, from the least, for a function that another program
  // rounds in a way of its own; the mode is then IDENTITY. Empty: the mode says the function.
  std::vector<int64_t> table = {};
  // Two 8-bit tensors are added in fixed-point numbers (fixed_point_sum.h), not in Float32.
  bool fixed_point_sum = false;

  // Whether the mode is a sum, rectified or not.
  bool adds() const { return rectifies() || mode == ScalarFunction::kAdd; }
  bool rectifies() const { return mode == ScalarFunction::kFuseAddRelu; }

  template <typename V>
  void Visit(V& v) {
    ElemwiseParam::Visit(v);
    output.Visit(v);
    v.Optional("table", table, std::vector<int64_t>());
    v.Optional("fixed_point_sum", fixed_point_sum, false);
  }
};

// Input 0 is of a quantised 8-bit type and has the output's shape. The others are such tensors or
// Float32, and broadcast to it. An 8-bit element becomes (q - zero point) * scale in Float32. The
// function is computed in Float32, each of its operations rounded; the value is divided by the
// output's scale, rounded half to even, and saturated.
class ElemwiseMultiType final
    : public OperatorWithParam<ElemwiseMultiTypeParam, PointwiseOperator> {
 public:
  ASHLAR_OPERATOR("ElemwiseMultiType", absl::StrCat("q", RowOf(param().mode).name))
  StorageRules storage_rules(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  int64_t Computation(const Site& site) const override;

  // Returns the factors of the sum of two tensors, absent if it is computed in Float32.
  FixedPointSum FixedSum(const Quantization& a, const Quantization& b,
                         const Quantization& output) const;

  // Returns the output's bytes of a function of one input, by the input's byte.
  std::array<uint8_t, 256> Table(const TensorType& input, const TensorType& output) const;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_ELEMWISE_MULTI_TYPE_H_
