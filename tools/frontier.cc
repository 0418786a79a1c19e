#include "tools/frontier.h"

#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "runtime/plan/tiled_plan.h"
#include "tools/bound_session.h"
#include "tools/format.h"
#include "tools/statistics.h"
#include "tools/table.h"

namespace ashlar {
namespace {

// Milliseconds of a run, the median of some.
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
    point.tiles = plan->wishes.tiles.ToString();
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
  Table table({">arena", ">bytes", ">extra FLOPs", ">predicted", ">measured", ">time", "--tile"});
  for (const FrontierPoint& point : points) {
    const double ratio = point.measured_ms / points[0].measured_ms;
    table.AddRow({FormatBytes(point.arena_bytes), absl::StrCat(point.arena_bytes),
                  FormatPercent(point.extra_flops_ratio), FormatMilliseconds(point.predicted_ms),
                  FormatMilliseconds(point.measured_ms), absl::StrFormat("%.2fx", ratio),
                  point.tiles.empty() ? "(none)" : point.tiles});
  }
  return table.ToText();
}

Json FrontierDocument(absl::Span<const FrontierPoint> points) {
  Json list = Json::array();
  for (const FrontierPoint& point : points) {
    list.push_back({{"arena_bytes", point.arena_bytes},
                    {"extra_flops_ratio", point.extra_flops_ratio},
                    {"predicted_ms", point.predicted_ms},
                    {"measured_ms", point.measured_ms},
                    {"tile", point.tiles}});
  }
  return list;
}

}  // namespace ashlar
