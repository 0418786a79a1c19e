// Plans for budgets of any size, from the search for the smallest plan and the search for fast
// tiles together.
//
// The fastest tilings without an operation twice come first, as long as they are hardly slower than
// the fastest of all. A budget that one of them fits takes it. All other budgets choose among the
// same plans (PlansForBudgets): all that the search for the smallest plan visits, and the slower
// tilings of the other search. So a larger budget never does more operations.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_BUDGET_PLANS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_BUDGET_PLANS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/plan/tiling/smallest_plan.h"
#include "runtime/plan/tiling/tile_rewrites.h"

namespace ashlar {

class BudgetPlans {
 public:
  // `graph`: before the passes. Both must outlive it.
  BudgetPlans(const Graph& graph, TileRewrites& rewrites) : graph_(graph), rewrites_(rewrites) {}

  // Returns the fastest plan in `bytes` that is hardly slower than the fastest of all and computes
  // nothing twice, or null.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> FastWithin(int64_t bytes) const;

  // Returns the smallest plan; null if the graph has no tiles. Call once.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Smallest();
  // Returns the plan that a budget takes of all that were visited and `smallest`; null if it takes
  // that one, or none fits.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Within(int64_t bytes, const PlanPoint& smallest);
  // Returns Pareto-optimal plans, the largest first: no other is in no way worse in bytes,
  // operations and expected time. Leaves out plans that are near others.
  absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> Frontier();

 private:
  absl::Status Search();
  // Graphs of few operators: plans the tilings without an operation twice whose exact peaks are the
  // smallest. Estimates of single segments count all of a segment, read or not.
  absl::Status FindExactly();
  // Plans a visited tiling as a plan that may be returned, if that fits.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> AgainWithin(int64_t bytes,
                                                            VisitedPlan visited) const;
  absl::Status Visit(const Tiling& tiling, const std::vector<bool>& low_workspace,
                     Thoroughness thorough);
  std::vector<PlanPoint> Points() const;

  const Graph& graph_;
  TileRewrites& rewrites_;
  bool searched_ = false;
  std::unique_ptr<PlannedGraph> smallest_;
  std::vector<VisitedPlan> visited_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_BUDGET_PLANS_H_
