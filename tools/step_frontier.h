// The curve of arena against operations of a step of training.
#ifndef ASHLAR_TOOLS_STEP_FRONTIER_H_
#define ASHLAR_TOOLS_STEP_FRONTIER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/plan/plan_request.h"
#include "tools/console.h"
#include "tools/json_output.h"

namespace ashlar {

struct StepPoint {
  std::string recompute;  // as --recompute takes it
  int64_t arena_bytes = 0;
  double extra_flops_ratio = 0;
};

// Plans points of RecomputeFrontier, each of an arena at least a fiftieth below the one before.
absl::StatusOr<std::vector<StepPoint>> PlanStepFrontier(const Graph& step,
                                                        const PlanRequest& request,
                                                        Console& console);

std::string StepFrontierTable(absl::Span<const StepPoint> points);
Json StepFrontierDocument(absl::Span<const StepPoint> points);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_STEP_FRONTIER_H_
