#include "tools/frontier.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "graph/status.h"
#include "runtime/plan/tiled_plan.h"
#include "tools/bound_session.h"
#include "tools/format.h"
#include "tools/statistics.h"
#include "tools/table.h"

namespace ashlar {
namespace {

constexpr double kWidth = 760, kHeight = 460;
constexpr double kLeft = 90, kRight = 30, kTop = 50, kBottom = 60;

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// 1, 2 or 5 times a power of ten, so that about five of them make up `span`.
double Tick(double span) {
  const double raw = span / 5, power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

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

std::string FrontierSvg(const std::string& title, absl::Span<const FrontierPoint> points) {
  double slowest = 0, largest = 0, fastest = points[0].measured_ms;
  for (const FrontierPoint& point : points) {
    slowest = std::max(slowest, point.measured_ms);
    fastest = std::min(fastest, point.measured_ms);
    largest = std::max(largest, static_cast<double>(point.arena_bytes) / 1e6);
  }
  const double begin = 0.9 * fastest, end = std::max(1.05 * slowest, 1.2 * fastest);
  const auto x = [&](double ms) {
    return kLeft + (ms - begin) / (end - begin) * (kWidth - kLeft - kRight);
  };
  const auto y = [&](double megabytes) {
    return kHeight - kBottom - megabytes / (1.05 * largest) * (kHeight - kTop - kBottom);
  };
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" "
      "fill=\"white\"/>\n<text x=\"%.0f\" y=\"28\" font-size=\"16\">%s</text>\n",
      kWidth, kHeight, kLeft, Escaped(title));
  const auto text = [&](double at_x, double at_y, const char* anchor, const std::string& what) {
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", at_x,
                          at_y, anchor, Escaped(what));
  };
  const auto line = [&](double x1, double y1, double x2, double y2) {
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                          "stroke=\"#ddd\"/>\n",
                          x1, y1, x2, y2);
  };
  for (double tick = 0; tick <= largest; tick += Tick(largest)) {
    line(kLeft, y(tick), kWidth - kRight, y(tick));
    text(kLeft - 8, y(tick) + 4, "end", absl::StrFormat("%g", tick));
  }
  const double step = Tick(end - begin);
  for (double tick = std::ceil(begin / step) * step; tick <= end; tick += step) {
    line(x(tick), kTop, x(tick), kHeight - kBottom);
    text(x(tick), kHeight - kBottom + 20, "middle", absl::StrFormat("%g", tick));
  }
  text((kLeft + kWidth) / 2, kHeight - 14, "middle", "milliseconds a run, measured");
  text(kLeft - 60, kTop - 14, "start", "arena, MB");
  std::string path;
  for (const FrontierPoint& point : points) {
    const double at_x = x(point.measured_ms);
    const double at_y = y(static_cast<double>(point.arena_bytes) / 1e6);
    absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : " L", at_x, at_y);
    absl::StrAppendFormat(
        &svg,
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#2a6fb0\"><title>%s\n%d bytes, %.2f ms "
        "measured, %.2f ms predicted, %s extra FLOPs</title></circle>\n",
        at_x, at_y, Escaped(point.tiles.empty() ? "no tiles" : point.tiles), point.arena_bytes,
        point.measured_ms, point.predicted_ms, FormatPercent(point.extra_flops_ratio));
  }
  absl::StrAppend(&svg, "<path d=\"", path, "\" fill=\"none\" stroke=\"#2a6fb0\"/>\n</svg>\n");
  return svg;
}

}  // namespace ashlar
