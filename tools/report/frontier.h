// Trade-off curves: arena against time for a model, arena against operations for a training step.
#ifndef ASHLAR_TOOLS_REPORT_FRONTIER_H_
#define ASHLAR_TOOLS_REPORT_FRONTIER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/measure/measure.h"
#include "tools/console.h"
#include "tools/json_output.h"

namespace ashlar {

struct FrontierPoint {
  std::string choice;               // in the format of --tile or --recompute; empty: none
  std::string tiles;                // of a training step, in the format of --tile; empty: none
  std::vector<std::string> repeat;  // the options that make the point's plan (OptionsToRepeat)
  int64_t arena_bytes = 0;
  double extra_flops_ratio = 0;
  double predicted_ms = 0;  // 0: neither predicted nor measured
  double measured_ms = 0;
};

// Plans the frontier of a model, and predicts and measures each point (the median of several runs).
absl::StatusOr<std::vector<FrontierPoint>> MeasureFrontier(Graph graph, const PlanRequest& request,
                                                           const InputTensors& inputs,
                                                           Console& console);

// Formats the points, each with the options that repeat it. Times are shown if there are any.
std::string FrontierTable(absl::Span<const FrontierPoint> points);
// `option`: the option that takes a point's choice, "tile" or "recompute".
Json FrontierDocument(absl::Span<const FrontierPoint> points, const std::string& option);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_FRONTIER_H_
