#include "opr/immutable_tensor.h"

namespace ashlar {

// A constant's value does not travel as a parameter: loaders make it with MakeConstant.
template <>
absl::StatusOr<OperatorPtr> MakeOperator<ImmutableTensor>(const ParamList&) {
  return absl::InvalidArgumentError("a constant needs its value");
}

absl::StatusOr<std::vector<TensorType>> ImmutableTensor::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 0));
  return std::vector<TensorType>{{value_.dtype(), value_.shape()}};
}

absl::StatusOr<std::vector<HostTensor>> ImmutableTensor::Evaluate(
    absl::Span<const HostTensor>) const {
  return std::vector<HostTensor>{value_};
}

}  // namespace ashlar
