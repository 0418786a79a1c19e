#include "opr/base/axis.h"

#include "graph/status.h"

namespace ashlar {

AxisView AroundAxis(const Shape& shape, int axis) {
  AxisView view{1, shape[axis], 1};
  for (int i = 0; i < axis; ++i) view.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) view.inner *= shape[i];
  return view;
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range for a tensor of rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<Axes> AxisIn(int64_t axis, const Shape& shape) {
  const absl::StatusOr<int> normalized = NormalizeAxis(axis, shape.rank());
  return normalized.ok() ? std::optional<Axes>(Only(*normalized)) : std::nullopt;
}

}  // namespace ashlar
