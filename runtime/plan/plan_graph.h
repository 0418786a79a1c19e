// Plans graphs: drives the stages (runtime/plan/stages/stages.h).
#ifndef ASHLAR_RUNTIME_PLAN_PLAN_GRAPH_H_
#define ASHLAR_RUNTIME_PLAN_PLAN_GRAPH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Plans `graph` as requested:
// - untiled, or in the requested or tuned tiles (recorded_tiles.h);
// - within a budget for the arena, or for the total (total_plan.h);
// - from a recorded plan (PlanningOptions::recorded, plan_as_recorded.h).
//
// ResourceExhausted if a budget cannot be met, naming the smallest that works. ResourceExhausted,
// naming the needed and the available bytes, if the device's memory is too small for a session.
// Cancelled once a stop is requested (PlanningOptions::planner); it has no other effect.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanGraph(Graph graph, const PlanRequest& request);

// Plans a graph whose passes have run, in the requested tiles if any, with kernels that were chosen
// before.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithKernels(Graph rewritten,
                                                              const ChosenKernels& kernels,
                                                              const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PLAN_GRAPH_H_
