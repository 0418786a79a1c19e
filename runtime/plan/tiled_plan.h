// Plans of tiled graphs: in given tiles, or in tiles that fit a budget.
#ifndef ASHLAR_RUNTIME_PLAN_TILED_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TILED_PLAN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/tiling/tile_geometry.h"
#include "runtime/plan/plan_request.h"
#include "runtime/plan/rewrite.h"

namespace ashlar {

// A payload of the errors of tiles that a graph does not have.
inline constexpr char kNoSuchTiles[] = "ashlar/no_such_tiles";

// In the tiles that are wished for; InvalidArgument with that payload where the graph does not have
// them.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiled(const RewrittenGraph& rewritten,
                                                        const PlanRequest& request);

// The fastest plan within the budget; ResourceExhausted where there is none. `graph`: before the
// passes.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinBudget(const Graph& graph,
                                                               const RewrittenGraph& rewritten,
                                                               const PlanRequest& request);

// Plans none of which is both larger and expected to be slower than another, the largest first.
absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> PlanFrontier(Graph graph,
                                                                        const PlanRequest& request);

// The geometry of a graph in the requested tiles, part by part. The nodes are those of `graph`,
// which becomes the graph after the passes.
absl::StatusOr<std::vector<TiledPart>> DescribeTiledGraph(Graph& graph, const Wishes& wishes,
                                                          const Means& means);

// Ids of the nodes of a graph after the passes, in the order that its tiles follow.
absl::StatusOr<std::vector<int>> OrderBeforeTiles(const Graph& graph, const Wishes& wishes,
                                                  const Means& means);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILED_PLAN_H_
