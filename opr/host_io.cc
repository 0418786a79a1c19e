#include "opr/host_io.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(OutputCallback)
ASHLAR_MAKE_FROM_PARAMS(InputCallback)
ASHLAR_MAKE_FROM_PARAMS(Host2DeviceCopy)

namespace {

TensorType Marker() { return {DType::kByte, Shape{0}}; }

}  // namespace

absl::StatusOr<std::vector<TensorType>> InputOperator::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 0));
  ASHLAR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(param().shape));
  return std::vector<TensorType>{{param().dtype, shape}};
}

absl::StatusOr<std::vector<HostTensor>> InputOperator::Evaluate(
    absl::Span<const HostTensor>) const {
  return absl::FailedPreconditionError(absl::StrCat(type(), " has no value before a run"));
}

int64_t Host2DeviceCopy::Computation(const Site& site) const {
  return site.outputs[0].shape.num_elements();
}

absl::StatusOr<std::vector<TensorType>> InputCallback::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<TensorType> types, InputOperator::Infer(inputs));
  types.push_back(Marker());
  return types;
}

absl::StatusOr<std::vector<TensorType>> OutputCallback::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  return std::vector<TensorType>{Marker()};
}

absl::StatusOr<std::vector<HostTensor>> OutputCallback::Evaluate(
    absl::Span<const HostTensor>) const {
  return std::vector<HostTensor>{HostTensor::Zeros(DType::kByte, Shape{0})};
}

}  // namespace ashlar
