#include "opr/base/held_tensor.h"

namespace ashlar {

absl::StatusOr<std::vector<TensorType>> HeldTensor::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 0));
  return std::vector<TensorType>{
      {value_.dtype(), value_.shape(), Format::kDefault, value_.quantization()}};
}

absl::StatusOr<std::vector<HostTensor>> HeldTensor::Evaluate(absl::Span<const HostTensor>) const {
  return std::vector<HostTensor>{value_};
}

}  // namespace ashlar
