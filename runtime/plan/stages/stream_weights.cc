#include "runtime/plan/stages/stream_weights.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "runtime/plan/stages/time_estimate.h"

namespace ashlar {
namespace {

constexpr size_t kShown = 3;  // weights that an error lists
// At a speed that is given, a read takes as long as so many more bytes: as without a measurement.
constexpr double kBytesOfARead = 1e5;

WindowProblem ProblemOf(const PlannedGraph& planned) {
  WindowProblem problem;
  const PlanTarget& target = planned.request.target;
  problem.alignment = planned.device->alignment();
  problem.planner = planned.planning.planner;
  problem.disk = ReadSpeedOf(planned.planning).disk;
  for (const WeightEntry& entry : planned.weights.entries) {
    problem.weights.push_back({entry.bytes, -1, -1});
  }
  const ProcessorSpeed speed = SpeedOf(*planned.device, target, planned.planning);
  for (size_t step = 0; step < planned.schedule.order.size(); ++step) {
    const int node = planned.schedule.order[step];
    for (const int entry : planned.weights.by_input[node]) {
      if (entry < 0) continue;
      WindowProblem::Weight& weight = problem.weights[entry];
      if (weight.first < 0) weight.first = static_cast<int>(step);
      weight.last = static_cast<int>(step);
    }
    const Kernel* const kernel = planned.kernels[node].get();
    problem.step_ms.push_back(
        kernel == nullptr
            ? 0
            : EstimateOperator(planned.graph, planned.model, node, speed, /*share=*/1, kernel));
  }
  return problem;
}

// Lists the weights that lie in the window at a step, the largest first.
std::string WeightsAt(const PlannedGraph& planned, const WindowProblem& problem, int step) {
  std::vector<int> live;
  for (size_t i = 0; i < problem.weights.size(); ++i) {
    const WindowProblem::Weight& weight = problem.weights[i];
    if (weight.first <= step && step <= weight.last) live.push_back(static_cast<int>(i));
  }
  std::stable_sort(live.begin(), live.end(), [&](int a, int b) {
    return problem.weights[a].bytes > problem.weights[b].bytes;
  });
  std::string text;
  for (size_t i = 0; i < std::min(live.size(), kShown); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ",
                    planned.graph.var(planned.weights.entries[live[i]].var).name, " ",
                    problem.weights[live[i]].bytes);
  }
  if (live.size() > kShown) absl::StrAppend(&text, " and ", live.size() - kShown, " smaller ones");
  return text;
}

void Use(WeightWindow window, PlannedGraph& planned) {
  planned.predicted_ms = window.expected_ms;
  planned.weights.window = std::move(window);
}

}  // namespace

ReadSpeed ReadSpeedOf(const PlanningOptions& planning) {
  if (planning.weights_speed > 0) {
    const double bytes_per_ms = static_cast<double>(planning.weights_speed) / 1e3;
    return {{kBytesOfARead / bytes_per_ms, bytes_per_ms}, "given"};
  }
  if (planning.record != nullptr && planning.record->disk) {
    return {*planning.record->disk, "measured"};
  }
  return {DiskSpeed(), "assumed"};
}

absl::Status StreamWeights(PlannedGraph& planned) {
  const std::optional<int64_t>& budget = planned.request.target.weights_budget;
  if (!budget) return absl::OkStatus();
  const WindowProblem problem = ProblemOf(planned);
  std::optional<WeightWindow> window = PlanReadAhead(problem, *budget);
  if (window) {
    Use(*std::move(window), planned);
    return absl::OkStatus();
  }
  ASHLAR_ASSIGN_OR_RETURN(LeastWindow least, PlanLeastWindow(problem));
  const int64_t bytes = least.window.bytes;
  if (bytes > *budget) {
    return DoesNotFit(
        absl::StrCat("a window of ", *budget, " bytes is too small for the weights: at least ",
                     bytes, " are needed, for ",
                     Describe(planned.graph.node(planned.schedule.order[least.step])), " with ",
                     WeightsAt(planned, problem, least.step)),
        bytes);
  }
  Use(std::move(least.window), planned);
  return absl::OkStatus();
}

}  // namespace ashlar
