// Optimises order and addresses together, in rounds: if a plan exceeds its lower bound, the wasted
// bytes are charged to the steps, and the order is searched again.
#ifndef ASHLAR_RUNTIME_SCHEDULE_ORDERED_PLAN_H_
#define ASHLAR_RUNTIME_SCHEDULE_ORDERED_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "memory/planner.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

struct OrderedPlan {
  Schedule schedule;
  Lifetimes lifetimes;
  memory::PlanResult plan;
};

struct OrderedPlanOptions {
  int64_t alignment = 1;    // bytes
  int64_t guard_bytes = 0;  // see ComputeLifetimes
  bool reorder = true;      // whether to try other orders
  // Whether to run the planner `exact` as well, with as much work, if `planner` proves nothing.
  bool exact_too = false;
  memory::PlanOptions planner;
};

// Plans the order of `schedule`, which was computed with at most the bytes of `workspace` (by
// node).
//
// If the plan neither meets its bound nor fits the capacity, tries in turn:
// 1. the same order without placements of storages that wait for their whole;
// 2. the same order without the overwrites that the bound does not need, as each ties two lifetimes
//   to one address; without `reorder`, this step only runs if step 1 does not apply;
// 3. orders that avoid the steps at which the plan exceeded its bound: the wasted bytes count as
//   workspace;
// 4. MegEngine's order.
//
// Each order is first looked at in all of these ways with a small share of the work: one may meet
// the bound at once that others never meet.
//
// The smallest arena wins, the first of equals, so it is never larger than the plan of the given
// order. All share the planner's work. `exact_too` plans the lifetimes of the winner.
absl::StatusOr<OrderedPlan> PlanInOrder(const Graph& graph, const StorageModel& model,
                                        Schedule schedule, absl::Span<const int64_t> workspace,
                                        const OrderedPlanOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_ORDERED_PLAN_H_
