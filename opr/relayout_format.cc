#include "opr/relayout_format.h"

#include "opr/regions.h"

namespace ashlar {

absl::StatusOr<std::vector<TensorType>> RelayoutFormat::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  TensorType type = inputs[0].type;
  if (type.format != param().format && type.shape.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", type.ToString(), ", expected an image of rank 4"));
  }
  type.format = param().format;
  return std::vector<TensorType>{type};
}

absl::StatusOr<std::vector<HostTensor>> RelayoutFormat::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  return std::vector<HostTensor>{inputs[0]};  // host tensors are row-major in any case
}

std::optional<View> RelayoutFormat::ReadonlyForward(absl::Span<const InputInfo> inputs,
                                                    absl::Span<const TensorType> outputs) const {
  if (inputs[0].type.format == outputs[0].format) return View{};
  // With whole channel blocks of single pixels all formats lie the same way; the blocked ones do
  // with one block or one row.
  const Shape& shape = inputs[0].type.shape;
  const bool blocked = IsBlocked(inputs[0].type.format) && IsBlocked(outputs[0].format);
  const bool pixels = shape[1] % kChannelBlock == 0 && shape[2] * shape[3] == 1;
  const bool same = blocked && (shape[1] <= kChannelBlock || shape[2] == 1);
  // Without blocks they differ in where the channels stand.
  const bool plain = !IsBlocked(inputs[0].type.format) && !IsBlocked(outputs[0].format) &&
                     (shape[1] == 1 || shape[2] * shape[3] == 1);
  return pixels || same || plain ? std::optional<View>(View{}) : std::nullopt;
}

std::optional<std::vector<Region>> RelayoutFormat::InputRegions(
    const Region& output, absl::Span<const InputInfo> inputs,
    absl::Span<const TensorType> /*outputs*/) const {
  return BroadcastRegions(output, inputs);
}

std::optional<Region> RelayoutFormat::OutputRegion(int input, const Region& region,
                                                   absl::Span<const InputInfo> inputs,
                                                   absl::Span<const TensorType> outputs) const {
  return BroadcastOutputRegion(region, inputs[input].type, outputs[0]);
}

}  // namespace ashlar
