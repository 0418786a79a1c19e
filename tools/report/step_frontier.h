// The curve of arena against operations for a training step.
#ifndef ASHLAR_TOOLS_REPORT_STEP_FRONTIER_H_
#define ASHLAR_TOOLS_REPORT_STEP_FRONTIER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "tools/console.h"
#include "tools/report/frontier.h"
#include "training/training_graph.h"

namespace ashlar {

// Plans points of TrainingFrontier; each has an arena at least a fiftieth below the one before.
// `graph` is MakeTrainingGraph of `options`.
absl::StatusOr<std::vector<FrontierPoint>> PlanStepFrontier(const TrainingGraph& graph,
                                                            const TrainingOptions& options,
                                                            const PlanRequest& request,
                                                            Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_STEP_FRONTIER_H_
