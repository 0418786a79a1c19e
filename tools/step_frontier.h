// The curve of arena against operations of a step of training.
#ifndef ASHLAR_TOOLS_STEP_FRONTIER_H_
#define ASHLAR_TOOLS_STEP_FRONTIER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_request.h"
#include "tools/console.h"
#include "tools/frontier.h"

namespace ashlar {

// Plans points of RecomputeFrontier, each of an arena at least a fiftieth below the one before.
absl::StatusOr<std::vector<FrontierPoint>> PlanStepFrontier(const Graph& step,
                                                            const PlanRequest& request,
                                                            Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_STEP_FRONTIER_H_
