// Plans tiled graphs: in given tiles, or in tiles that fit a budget.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILED_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILED_PLAN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/tiling/tile_geometry.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/rewrite.h"

namespace ashlar {

// Plans the graph in the requested tiles; InvalidArgument with the payload kNoSuchTiles if the
// graph does not have them.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiled(const RewrittenGraph& rewritten,
                                                        const PlanRequest& request);

// Returns the fastest plan within the budget; ResourceExhausted if there is none. `graph`: before
// the passes.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinBudget(const Graph& graph,
                                                               const RewrittenGraph& rewritten,
                                                               const PlanRequest& request);

// Returns the Pareto-optimal plans: none is both larger and expected to be slower than another; the
// largest first.
absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> PlanFrontier(Graph graph,
                                                                        const PlanRequest& request);

// Describes the requested tiles of a graph, tile by tile. The nodes belong to `graph`, which
// becomes the graph after the passes.
absl::StatusOr<std::vector<TiledPart>> DescribeTiledGraph(Graph& graph, const PlanTarget& target,
                                                          const PlanningOptions& planning);

// Returns the ids of the nodes of a graph after the passes, in the order that its tiles follow.
absl::StatusOr<std::vector<int>> OrderBeforeTiles(const Graph& graph, const PlanTarget& target,
                                                  const PlanningOptions& planning);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILED_PLAN_H_
