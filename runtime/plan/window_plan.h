// Plans for streamed weights: chooses the weights that are best to stream.
#ifndef ASHLAR_RUNTIME_PLAN_WINDOW_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_WINDOW_PLAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/plan/total_plan.h"

namespace ashlar {

// Returns the plan with the least expected time of a run (WeightWindow) within
// `request.target.weights_budget`: with large weights whole or in panels of some size, then with
// kernels whose weights take fewer bytes. ResourceExhausted, naming the least window that was
// found, if none fits. `plan` plans requests as they are.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanForWindow(const Graph& graph,
                                                            const PlanRequest& request,
                                                            PlanFunction plan);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_WINDOW_PLAN_H_
