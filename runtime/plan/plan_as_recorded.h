// Plans made again from their record, without a search of tiles, order, kernels or addresses: the
// graph is rewritten, and the record is checked against it.
#ifndef ASHLAR_RUNTIME_PLAN_PLAN_AS_RECORDED_H_
#define ASHLAR_RUNTIME_PLAN_PLAN_AS_RECORDED_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_request.h"
#include "runtime/plan/recorded_plan.h"
#include "runtime/plan/rewrite.h"

namespace ashlar {

// The request for the plan that `recorded` is of.
PlanRequest RequestAsRecorded(std::shared_ptr<const RecordedPlan> recorded);

// The plan of `request.means.recorded`. The graph is the one that it was made of, before any
// rewrite. With Checks::guard_bytes only tiles, order and kernels are the recorded ones, since
// chunks are larger then: their addresses are planned.
//
// InvalidArgument, naming the record's file, where the record contradicts the graph or itself: an
// order that is none, chunks of other sizes or lifetimes, addresses that the validator refuses.
// FailedPrecondition where this version or device has other kernels, or another processor.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanAsRecorded(Graph graph,
                                                             const PlanRequest& request);

// The same for a graph whose passes have run.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanRewrittenAsRecorded(RewrittenGraph rewritten,
                                                                      const PlanRequest& request);

// The same for a graph that is rewritten and tiled already.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlaceAsRecorded(RewrittenGraph rewritten,
                                                              const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PLAN_AS_RECORDED_H_
