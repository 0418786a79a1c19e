#include "tools/report/step_frontier.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "tools/format.h"
#include "tools/repeat_options.h"
#include "training/strip_search.h"

namespace ashlar {
namespace {

constexpr double kMostExtraFlops = 0.5;
constexpr double kLess = 0.98;  // of the arena of the point before

}  // namespace

absl::StatusOr<std::vector<FrontierPoint>> PlanStepFrontier(const TrainingGraph& graph,
                                                            const TrainingOptions& options,
                                                            const PlanRequest& request,
                                                            Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TrainingPoint> frontier,
                          TrainingFrontier(graph, options, kMostExtraFlops));
  std::vector<FrontierPoint> points;
  double peak = 0;
  for (const TrainingPoint& step : frontier) {
    const RecomputePoint& point = step.recompute;
    const auto bytes = static_cast<double>(point.peak_bytes);
    if (!points.empty() && bytes > kLess * peak) continue;
    peak = bytes;
    console.Progress(absl::StrCat("planning, with ", FormatPercent(point.extra_flops)));
    ASHLAR_ASSIGN_OR_RETURN(TrainingGraph made, TrainingGraphOf(graph, options, step));
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned,
                            PlanGraph(std::move(made.step), request));
    const int64_t arena = planned->plan.plan.arena;
    if (!points.empty() &&
        static_cast<double>(arena) > kLess * static_cast<double>(points.back().arena_bytes)) {
      continue;
    }
    points.push_back({.choice = point.spec.ToString(),
                      .tiles = step.tiles.ToString(),
                      .repeat = OptionsToRepeat(step.tiles, point.spec),
                      .arena_bytes = arena,
                      .extra_flops_ratio = point.extra_flops});
  }
  return points;
}

}  // namespace ashlar
