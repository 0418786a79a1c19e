// GetVarShape: the shape of a tensor as a value.
#ifndef ASHLAR_OPR_GET_VAR_SHAPE_H_
#define ASHLAR_OPR_GET_VAR_SHAPE_H_

#include "opr/axis.h"
#include "opr/base.h"

namespace ashlar {

struct GetVarShapeParam {
  int64_t axis = kNoAxis;  // only this dimension; negative: from the end

  template <typename V>
  void Visit(V& v) {
    v.Optional("axis", axis, kNoAxis);
  }
};

// An Int32 vector of x's dimensions, or of the one that is asked for. Reads no element of x.
class GetVarShape final : public OperatorWithParam<GetVarShapeParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "GetVarShape"; }
  std::string base_name() const override { return "shape_of"; }
  InputUse input_use(int) const override { return InputUse::kShape; }
  InferRule value_rule(int num_inputs) const override { return shape_rule(num_inputs); }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_GET_VAR_SHAPE_H_
