#include "opr/shared_device_tensor.h"

namespace ashlar {

// As a constant's, its value does not travel as a parameter: OperatorTable::MakeState.
template <>
absl::StatusOr<OperatorPtr> MakeOperator<SharedDeviceTensor>(const ParamList&) {
  return absl::InvalidArgumentError("a state needs its first value");
}

absl::StatusOr<std::vector<TensorType>> SharedDeviceTensor::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 0));
  return std::vector<TensorType>{{value_.dtype(), value_.shape()}};
}

absl::StatusOr<std::vector<HostTensor>> SharedDeviceTensor::Evaluate(
    absl::Span<const HostTensor>) const {
  return std::vector<HostTensor>{value_};
}

}  // namespace ashlar
