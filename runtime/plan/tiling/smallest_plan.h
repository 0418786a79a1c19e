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

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/tiling/plan_choice.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {

// A plan that a search made, and what makes it again (TiledPlans::Plan).
struct VisitedPlan {
  PlanPoint point;
  size_t rewrite = 0;  // the index of its TiledPlans
  TileSpec tiles;
  bool low_workspace = false;
  Thoroughness thorough = Thoroughness::kLook;
  int64_t multiple = 1;

  static VisitedPlan Of(const PlannedGraph& planned, size_t rewrite, Thoroughness thorough,
                        int64_t multiple = 1) {
    return {PlanPoint::Of(planned),
            rewrite,
            planned.tiles,
            planned.planning.kernels.low_workspace,
            thorough,
            multiple};
  }
};

struct SmallestPlan {
  std::unique_ptr<PlannedGraph> plan;  // null if the graph has no tiles
  std::vector<VisitedPlan> visited;    // all plans within the limit, this one among them
};

// Returns the smallest plan that is found, without tiles that save nothing. `graph`: before the
// passes. `rewrites`: the same, rewritten in several ways, at least one. `work`: for one plan. More
// than usual lets the search go on after it has ended, so it never makes the plan larger.
absl::StatusOr<SmallestPlan> SmallestOf(const Graph& graph,
                                        absl::Span<const std::unique_ptr<TiledPlans>> rewrites,
                                        double max_extra_flops, int64_t work);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SMALLEST_PLAN_H_
