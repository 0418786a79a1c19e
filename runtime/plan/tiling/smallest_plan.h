// Finds the smallest plan of a graph in tiles.
//
// The more a plan may compute again, the smaller it is, never larger: a search with a limit of
// extra operations runs, in a fixed order, the stages of all lower limits (kLimits), and takes the
// best plan of all stages that is within its limit. A stage depends on the stages before it alone,
// never on the limit asked for. So the choice of a limit contains the choice of any lower
// limit. The best plan has the fewest bytes; of these it does the fewest operations, then is the
// fastest. A limit between two of kLimits runs the stage of the upper one, too.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {

// Returns the smallest plan that is found, without tiles that save nothing. `graph`: before the
// passes. `rewrites`: the same, rewritten in several ways, at least one. Null if it has no tiles.
absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(
    const Graph& graph, absl::Span<const std::unique_ptr<TiledPlans>> rewrites,
    double max_extra_flops);

// Returns whether a plan has fewer bytes than another, or does fewer operations in as many, or is
// expected to be faster with as many of both.
bool IsSmaller(const PlannedGraph& a, const PlannedGraph& b);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_
