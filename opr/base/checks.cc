#include "opr/base/checks.h"

#include "graph/status.h"

namespace ashlar {
namespace {

HostTensor Converted(const HostTensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype || !IsFloat(tensor.dtype())) return tensor;
  HostTensor converted = HostTensor::Zeros(dtype, tensor.shape());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) converted.Set(i, tensor.At(i));
  return converted;
}

}  // namespace

absl::Status CheckNotEmpty(absl::string_view name, const TensorType& type) {
  if (type.shape.num_elements() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", type.ToString(), ": empty"));
}

absl::Status CheckMadeOfElements(absl::string_view name, const TensorType& type,
                                 const Shape& output) {
  return output.num_elements() == 0 ? absl::OkStatus() : CheckNotEmpty(name, type);
}

absl::Status CheckDType(absl::string_view name, const TensorType& type, DType dtype) {
  if (type.dtype == dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", type.ToString(), ", expected ", Name(dtype)));
}

absl::Status CheckType(absl::string_view name, const TensorType& type, const TensorType& expected) {
  if (type.dtype == expected.dtype && type.shape == expected.shape) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", type.ToString(), ", expected ", expected.ToString()));
}

absl::Status CheckDiff(const TensorType& diff, DType dtype, const Shape& output,
                       absl::string_view whose) {
  ASHLAR_RETURN_IF_ERROR(CheckDType("diff", diff, dtype));
  if (diff.shape == output) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("diff is ", diff.ToString(), ", expected ", whose,
                                                 " output, ", output.ToString()));
}

absl::Status CheckFloat(absl::string_view name, const TensorType& type) {
  if (IsFloat(type.dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", type.ToString(), ", expected floats"));
}

namespace {

absl::Status CheckRankOfImage(absl::string_view name, const TensorType& type) {
  if (type.shape.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", type.ToString(), ", expected rank 4 (N, C, H, W)"));
}

}  // namespace

absl::Status CheckImage(absl::string_view name, const TensorType& type) {
  ASHLAR_RETURN_IF_ERROR(CheckFloat(name, type));
  return CheckRankOfImage(name, type);
}

absl::Status CheckBytesImage(absl::string_view name, const TensorType& type) {
  if (!IsQuantizedTo8Bits(type.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", type.ToString(), ", expected a quantised one of 8 bits"));
  }
  return CheckRankOfImage(name, type);
}

absl::StatusOr<std::vector<HostTensor>> EvaluateRounded(const Operator& op,
                                                        absl::Span<const HostTensor> inputs) {
  std::vector<HostTensor> wide;
  for (const HostTensor& input : inputs) wide.push_back(Converted(input, DType::kFloat32));
  ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, op.Evaluate(wide));
  for (HostTensor& output : outputs) output = Converted(output, inputs[0].dtype());
  return outputs;
}

}  // namespace ashlar
