// Axis parameters, which may count from the end.
#ifndef ASHLAR_OPR_AXIS_H_
#define ASHLAR_OPR_AXIS_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/shape.h"

namespace ashlar {

// The value of an axis parameter that is not given.
inline constexpr int64_t kNoAxis = std::numeric_limits<int32_t>::max();

// Dimensions [begin, end) of a tensor.
struct Axes {
  int begin = 0, end = 0;
};
inline Axes Only(int axis) { return {axis, axis + 1}; }
// One axis of a shape; nullopt where it has none of that number.
std::optional<Axes> AxisIn(int64_t axis, const Shape& shape);

// A tensor around one axis: the products of the dimensions before and behind it.
struct AxisView {
  int64_t outer = 1, length = 1, inner = 1;
};
AxisView AroundAxis(const Shape& shape, int axis);

// The axis in [0, rank), from one in [-rank, rank); anything else is InvalidArgument.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

}  // namespace ashlar

#endif  // ASHLAR_OPR_AXIS_H_
