#include "opr/get_var_shape.h"

#include <limits>
#include <utility>

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(GetVarShape)

absl::StatusOr<std::vector<int32_t>> GetVarShape::Dimensions(const Shape& x) const {
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  if (param().axis != kNoAxis) {
    ASHLAR_ASSIGN_OR_RETURN(int axis, NormalizeAxis(param().axis, x.rank()));
    dims = {x[axis]};
  }
  for (int64_t dim : dims) {
    if (dim > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", dim, " of ", x.ToString(), " does not fit Int32"));
    }
  }
  return std::vector<int32_t>(dims.begin(), dims.end());
}

absl::StatusOr<std::vector<TensorType>> GetVarShape::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  ASHLAR_ASSIGN_OR_RETURN(std::vector<int32_t> dims, Dimensions(inputs[0].type.shape));
  return std::vector<TensorType>{{DType::kInt32, Shape{static_cast<int64_t>(dims.size())}}};
}

absl::StatusOr<std::vector<HostTensor>> GetVarShape::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<int32_t> dims, Dimensions(inputs[0].shape()));
  const Shape shape{static_cast<int64_t>(dims.size())};
  return std::vector<HostTensor>{HostTensor::FromValues<int32_t>(DType::kInt32, shape, dims)};
}

}  // namespace ashlar
