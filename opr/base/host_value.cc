#include "opr/base/host_value.h"

#include "graph/status.h"

namespace ashlar {

namespace {

// InvalidArgument unless the input is a vector of at most `most` elements with a known value.
absl::Status CheckKnownVector(const InputInfo& input, absl::string_view what, int most) {
  const TensorType& type = input.type;
  if (type.shape.rank() > 1 || type.shape.num_elements() > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " is ", type.ToString(), ", expected a vector of at most ", most, " elements"));
  }
  if (input.value == nullptr || !input.value->has_data()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be known before the run: a constant, or computed from shapes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> IntegerVector(const InputInfo& input, absl::string_view what) {
  const TensorType& type = input.type;
  if (type.dtype != DType::kInt32 && type.dtype != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", type.ToString(), ", expected Int32 or Int64"));
  }
  ASHLAR_RETURN_IF_ERROR(CheckKnownVector(input, what, Shape::kMaxRank));
  std::vector<int64_t> values;
  for (int64_t i = 0; i < input.value->num_elements(); ++i) {
    values.push_back(type.dtype == DType::kInt64 ? input.value->data<int64_t>()[i]
                                                 : input.value->data<int32_t>()[i]);
  }
  return values;
}

absl::StatusOr<std::vector<float>> FloatVector(const InputInfo& input, absl::string_view what) {
  if (input.type.dtype != DType::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", input.type.ToString(), ", expected Float32"));
  }
  ASHLAR_RETURN_IF_ERROR(CheckKnownVector(input, what, 2 * Shape::kMaxRank));
  const absl::Span<const float> values = input.value->data<float>();
  return std::vector<float>(values.begin(), values.end());
}

absl::StatusOr<int64_t> IntegerScalar(const InputInfo& input, absl::string_view what) {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<int64_t> values, IntegerVector(input, what));
  if (values.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", values.size(), " elements, expected 1"));
  }
  return values[0];
}

InputInfo InfoOf(const HostTensor& tensor) {
  return {{tensor.dtype(), tensor.shape(), Format::kDefault, tensor.quantization()}, &tensor};
}

std::vector<InputInfo> InfosOf(absl::Span<const HostTensor> tensors) {
  std::vector<InputInfo> infos;
  infos.reserve(tensors.size());
  for (const HostTensor& tensor : tensors) infos.push_back(InfoOf(tensor));
  return infos;
}

}  // namespace ashlar
