// Axis parameters, which may count from the end.
#ifndef ASHLAR_OPR_BASE_AXIS_H_
#define ASHLAR_OPR_BASE_AXIS_H_

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
// Returns one axis of a shape; nullopt if the shape has no such axis.
std::optional<Axes> AxisIn(int64_t axis, const Shape& shape);

// A tensor seen from one axis: the products of the dimensions before and after it.
struct AxisView {
  int64_t outer = 1, length = 1, inner = 1;
};
AxisView AroundAxis(const Shape& shape, int axis);

// Converts an axis in [-rank, rank) to [0, rank); InvalidArgument if it is outside.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_AXIS_H_
