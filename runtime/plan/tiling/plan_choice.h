// Chooses among plans by their bytes, operations and expected times.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_PLAN_CHOICE_H_
#define ASHLAR_RUNTIME_PLAN_TILING_PLAN_CHOICE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// The three sizes by which plans are compared.
struct PlanPoint {
  int64_t arena = 0;       // bytes
  double extra_flops = 0;  // PlannedGraph::extra_flops_ratio, but not below 0
  double ms = 0;           // PlannedGraph::predicted_ms

  static PlanPoint Of(const PlannedGraph& planned) {
    return {planned.plan.plan.arena, std::max(0.0, planned.extra_flops_ratio),
            planned.predicted_ms};
  }
};

// Returns whether a plan has fewer bytes than another, or does fewer operations in as many, or is
// expected to be faster with as many of both.
bool IsSmaller(const PlanPoint& a, const PlanPoint& b);

// Returns the Pareto-optimal plans, the largest first: no other plan is in no way worse. Of equal
// plans the first.
std::vector<size_t> ParetoOptimal(absl::Span<const PlanPoint> plans);

// Returns the plans that budgets take, the largest first; a budget takes the first that fits. The
// last is the smallest. A larger plan does no more operations and takes no more time than a smaller
// one, so a larger budget never does. Of the plans that leave this true, a budget takes the one
// with the fewest operations, of these the fastest.
std::vector<size_t> PlansForBudgets(absl::Span<const PlanPoint> plans);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_PLAN_CHOICE_H_
