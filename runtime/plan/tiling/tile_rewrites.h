// A graph, rewritten for tiles in the ways that the search for the smallest plan tries.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILE_REWRITES_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILE_REWRITES_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/smallest_plan.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {

// With all passes, as requested; and without certain passes, which usually reduce the peak, but not
// always:
// - sums of integers in convolutions: separate tensors may be placed better, by a few percent;
// - blocks of channels: padding takes memory, and so do copies between blocks and row-major images.
// And with wide convolutions in groups of channels, which takes more operators.
class TileRewrites {
 public:
  // `graph`: before the passes. `rewritten`: with all of them, for tiles. All must outlive it. At
  // first there is only one way, as requested.
  static absl::StatusOr<std::unique_ptr<TileRewrites>> Create(const Graph& graph,
                                                              const RewrittenGraph& rewritten,
                                                              const PlanRequest& request);

  // Adds the other ways, unless it was called before.
  absl::Status AddOthers();
  absl::Span<const std::unique_ptr<TiledPlans>> plans() const { return plans_; }
  // Makes a plan again.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Again(const VisitedPlan& visited) const;

 private:
  TileRewrites(const Graph& graph, const RewrittenGraph& rewritten, const PlanRequest& request)
      : graph_(graph), rewritten_(rewritten), request_(request) {}

  const Graph& graph_;
  const RewrittenGraph& rewritten_;
  const PlanRequest& request_;
  bool has_others_ = false;
  std::vector<PlanRequest> requests_;  // of all but the first
  std::vector<RewrittenGraph> graphs_;
  std::vector<std::unique_ptr<TiledPlans>> plans_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILE_REWRITES_H_
