#include "opr/host_value.h"

#include "graph/status.h"

namespace ashlar {

absl::StatusOr<std::vector<int64_t>> IntegerVector(const InputInfo& input, absl::string_view what) {
  const TensorType& type = input.type;
  if (type.dtype != DType::kInt32 && type.dtype != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", type.ToString(), ", expected Int32 or Int64"));
  }
  if (type.shape.rank() > 1 || type.shape.num_elements() > Shape::kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is ", type.ToString(),
                                                   ", expected a vector of at most ",
                                                   Shape::kMaxRank, " elements"));
  }
  if (input.value == nullptr || !input.value->has_data()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be known before the run: a constant, or computed from shapes"));
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < input.value->num_elements(); ++i) {
    values.push_back(type.dtype == DType::kInt64 ? input.value->data<int64_t>()[i]
                                                 : input.value->data<int32_t>()[i]);
  }
  return values;
}

absl::StatusOr<int64_t> IntegerScalar(const InputInfo& input, absl::string_view what) {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<int64_t> values, IntegerVector(input, what));
  if (values.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", values.size(), " elements, expected 1"));
  }
  return values[0];
}

InputInfo InfoOf(const HostTensor& tensor) { return {{tensor.dtype(), tensor.shape()}, &tensor}; }

std::vector<InputInfo> InfosOf(absl::Span<const HostTensor> tensors) {
  std::vector<InputInfo> infos;
  infos.reserve(tensors.size());
  for (const HostTensor& tensor : tensors) infos.push_back(InfoOf(tensor));
  return infos;
}

}  // namespace ashlar
