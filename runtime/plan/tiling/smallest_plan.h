// Finds the smallest plan of a graph in tiles.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {

// Returns the smallest of all plans that are found; among equal ones the plan with the fastest
// kernels. It is no larger than any plan of the tilings in plans.tilings().best.
absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(TiledPlans& plans);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_
