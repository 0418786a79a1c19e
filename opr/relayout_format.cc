#include "opr/relayout_format.h"

#include "opr/base/aliasing.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(RelayoutFormat)

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
  return std::vector<HostTensor>{inputs[0]};  // host tensors are always row-major
}

Aliasing RelayoutFormat::aliasing(const Site& site) const {
  const Format from = site.inputs[0].type.format, to = site.outputs[0].format;
  if (from == to) return ViewOfInput();
  // With whole channel blocks of single pixels all formats have the same layout. Blocked formats
  // agree if there is one block or one row.
  const Shape& shape = site.inputs[0].type.shape;
  const bool pixels = shape[1] % kChannelBlock == 0 && shape[2] * shape[3] == 1;
  const bool same =
      IsBlocked(from) && IsBlocked(to) && (shape[1] <= kChannelBlock || shape[2] == 1);
  // Formats without blocks differ only in the position of the channels.
  const bool plain =
      !IsBlocked(from) && !IsBlocked(to) && (shape[1] == 1 || shape[2] * shape[3] == 1);
  return pixels || same || plain ? ViewOfInput() : Aliasing();
}

}  // namespace ashlar
