// Plans of graphs that are executed in parts: in given ones, or in those that fit a budget.
#ifndef ASHLAR_RUNTIME_PLAN_TILED_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TILED_PLAN_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/tiling/tile_geometry.h"
#include "runtime/plan/rewrite.h"
#include "runtime/plan/tiling_search.h"

namespace ashlar {

// The rest of planning, after the rewrites. Nodes may be in the order in which they are to run.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanRewritten(RewrittenGraph rewritten,
                                                            const PlanningOptions& options,
                                                            bool in_given_order);

// With options.tiles.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiled(const RewrittenGraph& rewritten,
                                                        const PlanningOptions& options);

// The fastest plan within options.budget; ResourceExhausted where there is none. `whole`: what to
// take before any tiles if it fits; may be null.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinBudget(const RewrittenGraph& rewritten,
                                                               const PlanningOptions& options,
                                                               std::unique_ptr<PlannedGraph> whole);

// Plans none of which is both larger and expected to be slower than another, the largest first.
absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> PlanFrontier(
    Graph graph, const PlanningOptions& options);

// What the tiles in `options` make of a graph, part by part. The nodes are those of `graph`, which
// becomes the graph after the passes.
absl::StatusOr<std::vector<TiledPart>> DescribeTiledGraph(Graph& graph,
                                                          const PlanningOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILED_PLAN_H_
