// Plans the window of a plan whose weights are streamed (PlanTarget::weights_budget).
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_STREAM_WEIGHTS_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_STREAM_WEIGHTS_H_

#include "absl/status/status.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// The speed of the disk that windows are planned for.
struct ReadSpeed {
  DiskSpeed disk;
  const char* source;  // "given", "measured" or "assumed"
};
ReadSpeed ReadSpeedOf(const PlanningOptions& planning);

// Sets WeightsPlan::window if the plan's target has a budget for weights, and counts its reads
// in the expected time of a run. ResourceExhausted, naming
// the least window and the step that needs it, if the budget is smaller.
absl::Status StreamWeights(PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_STREAM_WEIGHTS_H_
