// Plans of graphs: the driver of the stages (runtime/plan/stages.h).
#ifndef ASHLAR_RUNTIME_PLAN_PLAN_GRAPH_H_
#define ASHLAR_RUNTIME_PLAN_PLAN_GRAPH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan_request.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

// As a whole, in the tiles that are wished for or were measured to be faster (recorded_tiles.h), in
// the tiles that a budget needs, as a budget for the total needs it (total_plan.h), or as recorded
// (Means::recorded, plan_as_recorded.h).
//
// ResourceExhausted, naming the smallest budget that would do, where a budget cannot be met; and
// naming the needed bytes and the free ones where the device's memory is too small for a session.
// Cancelled once a stop is requested (Means::planner); nothing else depends on that.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanGraph(Graph graph, const PlanRequest& request);

// The plan of a graph whose passes have run and which is tiled as wished for, with kernels chosen
// before: `kernels` are KernelIdentity by node.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithKernels(Graph rewritten,
                                                              absl::Span<const std::string> kernels,
                                                              const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PLAN_GRAPH_H_
