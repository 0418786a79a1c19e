// GetVarShape: the shape of a tensor as a value.
#ifndef ASHLAR_OPR_GET_VAR_SHAPE_H_
#define ASHLAR_OPR_GET_VAR_SHAPE_H_

#include "opr/base/axis.h"
#include "opr/base/base.h"

namespace ashlar {

struct GetVarShapeParam {
  int64_t axis = kNoAxis;  // only this dimension; negative: from the end

  template <typename V>
  void Visit(V& v) {
    v.Optional("axis", axis, kNoAxis);
  }
};

// Output: an Int32 vector of x's dimensions, or of the requested one. Reads no element of x.
class GetVarShape final : public OperatorWithParam<GetVarShapeParam> {
 public:
  ASHLAR_OPERATOR("GetVarShape", "shape_of")
  InputUse input_use(int) const override { return InputUse::kShape; }

  // Returns the output for a shape of x.
  absl::StatusOr<std::vector<int32_t>> Dimensions(const Shape& x) const;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_GET_VAR_SHAPE_H_
