// Reproduces recorded plans without a search of tiles, order, kernels or addresses: rewrites the
// graph, and checks the record against it.
#ifndef ASHLAR_RUNTIME_PLAN_RECORD_PLAN_AS_RECORDED_H_
#define ASHLAR_RUNTIME_PLAN_RECORD_PLAN_AS_RECORDED_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/rewrite.h"

namespace ashlar {

// Returns the request that reproduces `recorded`.
PlanRequest RequestAsRecorded(std::shared_ptr<const RecordedPlan> recorded);

// Reproduces `request.means.recorded`. The graph is the recorded plan's, before any rewrite. With
// DebugOptions::guard_bytes, chunks are larger, so addresses are planned anew; tiles, order and
// kernels are the recorded ones.
//
// InvalidArgument, naming the record's file, if the record contradicts the graph or itself: an
// invalid order, chunks of other sizes or lifetimes, addresses that the validator refuses.
// FailedPrecondition if this version or device has other kernels, or another processor.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanAsRecorded(Graph graph,
                                                             const PlanRequest& request);

// The same for a graph after the passes.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanRewrittenAsRecorded(RewrittenGraph rewritten,
                                                                      const PlanRequest& request);

// The same for a graph that is rewritten and tiled.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlaceAsRecorded(RewrittenGraph rewritten,
                                                              const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORD_PLAN_AS_RECORDED_H_
