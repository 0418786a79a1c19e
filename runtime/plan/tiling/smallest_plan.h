// Finds the smallest plan of a graph in tiles.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {

// Returns the smallest of all plans that are found; among equal ones the plan with the fastest
// kernels. It is no larger than any plan of the tilings in plans.tilings().best. Null if none is
// found below so many bytes.
absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(
    TiledPlans& plans, int64_t below = std::numeric_limits<int64_t>::max());

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_
