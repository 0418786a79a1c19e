#include "opr/axis.h"

#include "graph/status.h"

namespace ashlar {

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range for a tensor of rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<int> AxisIn(int64_t axis, const Shape& shape) {
  const absl::StatusOr<int> normalized = NormalizeAxis(axis, shape.rank());
  return normalized.ok() ? std::optional<int>(*normalized) : std::nullopt;
}

}  // namespace ashlar
