#include "opr/type_cvt.h"

#include <utility>

#include "opr/regions.h"

namespace ashlar {

absl::StatusOr<std::vector<TensorType>> TypeCvt::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || param().dtype == DType::kByte) {
    return absl::InvalidArgumentError(absl::StrCat(
        "from ", Name(x.dtype), " to ", Name(param().dtype), ": Byte is opaque and has no values"));
  }
  return std::vector<TensorType>{{param().dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> TypeCvt::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  if (x.dtype() == param().dtype) return std::vector<HostTensor>{x};
  HostTensor output = HostTensor::Zeros(param().dtype, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) output.Set(i, x.At(i));
  return std::vector<HostTensor>{std::move(output)};
}

std::optional<View> TypeCvt::ReadonlyForward(absl::Span<const InputInfo> inputs,
                                             absl::Span<const TensorType> outputs) const {
  return inputs[0].type == outputs[0] ? std::optional<View>(View{}) : std::nullopt;
}

std::optional<std::vector<Region>> TypeCvt::InputRegions(
    const Region& output, absl::Span<const InputInfo> inputs,
    absl::Span<const TensorType> /*outputs*/) const {
  return BroadcastRegions(output, inputs);
}

std::optional<Region> TypeCvt::OutputRegion(int input, const Region& region,
                                            absl::Span<const InputInfo> inputs,
                                            absl::Span<const TensorType> outputs) const {
  return BroadcastOutputRegion(region, inputs[input].type, outputs[0]);
}

}  // namespace ashlar
