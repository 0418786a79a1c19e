// Order and addresses together: the waste in the plan of an order is fed back into the order. A
// descent in rounds: where a plan rises above its bound, the bytes lost there are charged to the
// steps, and the order is searched again.
#ifndef ASHLAR_RUNTIME_SCHEDULE_ORDERED_PLAN_H_
#define ASHLAR_RUNTIME_SCHEDULE_ORDERED_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "memory/planner.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

struct OrderedPlan {
  Schedule schedule;
  Lifetimes lifetimes;
  memory::PlanResult plan;
};

struct OrderedPlanOptions {
  int64_t alignment = 1;    // bytes
  int64_t guard_bytes = 0;  // see ComputeLifetimes
  bool reorder = true;      // whether other orders may be tried
  // Whether the planner `exact` is asked too, with as much work, where `planner` proves nothing.
  bool exact_too = false;
  memory::PlanOptions planner;
};

// Plans the order of `schedule`, which was made with at most the bytes of `workspace` (by node).
//
// If the plan neither meets its bound nor fits the wanted capacity, tries in turn: the same order
// without the placements of parts that wait for their whole, and without the overwrites that the
// bound does not need, as each ties two lives to one address (without `reorder` only the first of
// the two that there are); orders that keep clear of the steps at which the plan rose above its
// bound, the bytes wasted there counted as workspace; MegEngine's order. The smallest arena wins,
// the first of equals, so it is never larger than that of the given order. All share the planner's
// work; its lifetimes are those that `exact_too` is about.
absl::StatusOr<OrderedPlan> PlanInOrder(const Graph& graph, const StorageModel& model,
                                        Schedule schedule, absl::Span<const int64_t> workspace,
                                        const OrderedPlanOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_ORDERED_PLAN_H_
