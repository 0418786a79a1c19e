#include "tools/report/frontier.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "runtime/plan/tiling/tiled_plan.h"
#include "tools/bound_session.h"
#include "tools/format.h"
#include "tools/repeat_options.h"
#include "tools/report/statistics.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

// Returns the milliseconds of a run, the median of several.
absl::StatusOr<double> MeasureTime(BoundSession& session) {
  constexpr int kWarmup = 1, kRuns = 5;
  std::vector<double> times;
  for (int i = 0; i < kWarmup + kRuns; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASHLAR_RETURN_IF_ERROR(session.Run());
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    if (i >= kWarmup) times.push_back(ms.count());
  }
  return Summarize(std::move(times)).median;
}

}  // namespace

absl::StatusOr<std::vector<FrontierPoint>> MeasureFrontier(Graph graph, const PlanRequest& request,
                                                           const InputTensors& inputs,
                                                           Console& console) {
  console.Progress("searching tiles");
  ASHLAR_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<PlannedGraph>> plans,
                          PlanFrontier(std::move(graph), request));
  std::vector<FrontierPoint> points;
  for (std::unique_ptr<PlannedGraph>& plan : plans) {
    console.Progress(absl::StrCat("measuring ", points.size() + 1, " of ", plans.size()));
    FrontierPoint point;
    point.choice = plan->tiles.ToString();
    point.repeat = OptionsToRepeat(*plan);
    point.arena_bytes = plan->plan.plan.arena;
    point.extra_flops_ratio = plan->extra_flops_ratio;
    point.predicted_ms = plan->predicted_ms;
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<BoundSession> session,
                            BoundSession::FromPlan(std::move(plan), inputs));
    ASHLAR_ASSIGN_OR_RETURN(point.measured_ms, MeasureTime(*session));
    points.push_back(std::move(point));
  }
  return points;
}

std::string FrontierTable(absl::Span<const FrontierPoint> points) {
  const bool timed = points[0].measured_ms > 0;
  std::vector<std::string> heads = {">arena", ">bytes", ">extra FLOPs"};
  if (timed) heads.insert(heads.end(), {">predicted", ">measured", ">time"});
  heads.push_back("options");
  Table table(std::move(heads));
  for (const FrontierPoint& point : points) {
    std::vector<std::string> row = {FormatBytes(point.arena_bytes), absl::StrCat(point.arena_bytes),
                                    FormatPercent(point.extra_flops_ratio)};
    if (timed) {
      const double ratio = point.measured_ms / points[0].measured_ms;
      row.insert(row.end(),
                 {FormatMilliseconds(point.predicted_ms), FormatMilliseconds(point.measured_ms),
                  absl::StrFormat("%.2fx", ratio)});
    }
    row.push_back(ShellText(point.repeat));
    table.AddRow(std::move(row));
  }
  return table.ToText();
}

Json FrontierDocument(absl::Span<const FrontierPoint> points, const std::string& option) {
  Json list = Json::array();
  for (const FrontierPoint& point : points) {
    Json row = {{"arena_bytes", point.arena_bytes}, {"extra_flops_ratio", point.extra_flops_ratio}};
    if (point.measured_ms > 0) {
      row["predicted_ms"] = point.predicted_ms;
      row["measured_ms"] = point.measured_ms;
    }
    row[option] = point.choice;
    row["repeat"] = point.repeat;
    if (!point.tiles.empty()) row["tile"] = point.tiles;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace ashlar
