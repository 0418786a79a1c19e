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

// The axis in [0, rank) of a shape; nullopt where it has none.
std::optional<int> AxisIn(int64_t axis, const Shape& shape);

// The axis in [0, rank), from one in [-rank, rank); anything else is InvalidArgument.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

}  // namespace ashlar

#endif  // ASHLAR_OPR_AXIS_H_
