// The curve of peak against time: the memory that a model can be had in, and the price.
#ifndef ASHLAR_TOOLS_FRONTIER_H_
#define ASHLAR_TOOLS_FRONTIER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/measure/measure.h"
#include "tools/console.h"
#include "tools/json_output.h"

namespace ashlar {

struct FrontierPoint {
  std::string tiles;  // as --tile takes it; empty: none
  int64_t arena_bytes = 0;
  double extra_flops_ratio = 0;
  double predicted_ms = 0;
  double measured_ms = 0;
};

// Plans the frontier of a model, and predicts and measures each point (the median of some runs).
absl::StatusOr<std::vector<FrontierPoint>> MeasureFrontier(Graph graph, const PlanRequest& request,
                                                           const InputTensors& inputs,
                                                           Console& console);

std::string FrontierTable(absl::Span<const FrontierPoint> points);
Json FrontierDocument(absl::Span<const FrontierPoint> points);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_FRONTIER_H_
