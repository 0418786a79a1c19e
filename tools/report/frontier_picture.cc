#include "tools/report/frontier_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "memory/svg_writer.h"
#include "tools/format.h"

namespace ashlar {
namespace {

// In the picture's own units; it scales to any size.
constexpr double kWidth = 900;
constexpr double kLeft = 90, kRight = 870, kTop = 50, kBottom = 400;
constexpr double kRowHeight = 20;  // in the list below the picture

constexpr char kGrid[] = " stroke=\"#ddd\"";  // attributes

constexpr size_t kTilesShown = 68;  // characters

class Picture {
 public:
  Picture(const std::string& title, absl::Span<const FrontierPoint> points)
      : title_(title), points_(points), pareto_(ParetoPoints(points)) {
    for (size_t i = 0; i < points.size(); ++i) {
      if (OnLine(i) || points[i].choice.empty() || DoesLess(i)) shown_.push_back(i);
    }
    double largest = 1, smallest = 0x1p62, slowest = 0;
    for (const size_t i : shown_) {
      const double arena = static_cast<double>(std::max<int64_t>(points_[i].arena_bytes, 1));
      largest = std::max(largest, arena);
      smallest = std::min(smallest, arena);
      slowest = std::max(slowest, points_[i].measured_ms);
    }
    first_ = std::floor(std::log2(smallest));
    last_ = std::max(first_ + 1, std::ceil(std::log2(largest)));
    slowest_ = 1.08 * slowest;
  }

  std::string Draw() {
    const double height = kBottom + 70 + kRowHeight * static_cast<double>(shown_.size());
    memory::SvgWriter svg(kWidth, height, kLeft, title_, out_);
    DrawAxes(svg);
    DrawLine();
    DrawPoints(svg);
    svg.End();
    return std::move(out_).str();
  }

 private:
  bool OnLine(size_t point) const { return std::count(pareto_.begin(), pareto_.end(), point) > 0; }
  // Returns whether every point on the line in as few bytes does more operations.
  bool DoesLess(size_t point) const {
    return std::none_of(pareto_.begin(), pareto_.end(), [&](size_t other) {
      return points_[other].arena_bytes <= points_[point].arena_bytes &&
             points_[other].extra_flops_ratio <= points_[point].extra_flops_ratio;
    });
  }
  double X(double bytes) const {
    return kLeft + (std::log2(std::max(bytes, 1.0)) - first_) / (last_ - first_) * (kRight - kLeft);
  }
  double Y(double ms) const { return kBottom - ms / slowest_ * (kBottom - kTop); }

  void DrawAxes(memory::SvgWriter& svg) {
    const double tick = memory::RoundTick(slowest_, 8);
    for (double ms = 0; ms <= slowest_; ms += tick) {
      svg.Line(kLeft, Y(ms), kRight, Y(ms), kGrid);
      svg.Text(kLeft - 8, Y(ms) + 4, " text-anchor=\"end\"", absl::StrFormat("%g", ms));
    }
    const int first = static_cast<int>(std::ceil(first_)), last = static_cast<int>(last_);
    const int every = (last - first) / 10 + 1;
    for (int power = first; power <= last; power += every) {
      const double x = X(std::exp2(power));
      svg.Line(x, kTop, x, kBottom, kGrid);
      svg.Text(x, kBottom + 18, " text-anchor=\"middle\"", memory::ShortBytes(int64_t{1} << power));
    }
    svg.Text((kLeft + kRight) / 2, kBottom + 38, " text-anchor=\"middle\"", "arena");
    svg.VerticalText(22, (kTop + kBottom) / 2, " text-anchor=\"middle\"",
                     "milliseconds a run, measured");
  }

  // Draws a step line: between two points the smaller one's time applies.
  void DrawLine() {
    std::string path = absl::StrFormat("M%.1f", kRight);
    for (const size_t i : pareto_) {
      const double x = X(static_cast<double>(points_[i].arena_bytes));
      const double y = Y(points_[i].measured_ms);
      absl::StrAppendFormat(&path, i == pareto_[0] ? " %.1fH%.1f" : "V%.1fH%.1f", y, x);
    }
    out_ << "<path d=\"" << path << "\" fill=\"none\" stroke=\"#2a6fb0\"/>\n";
  }

  void DrawPoints(memory::SvgWriter& svg) {
    double row = kBottom + 64;
    double last_x = kRight + 100;
    for (size_t k = 0; k < shown_.size(); ++k, row += kRowHeight) {
      const FrontierPoint& point = points_[shown_[k]];
      const double x = X(static_cast<double>(point.arena_bytes)), y = Y(point.measured_ms);
      const std::string number = absl::StrCat(k + 1);
      const std::string tiles = point.choice.empty() ? "not tiled" : point.choice;
      out_ << absl::StrFormat(
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" stroke=\"#2a6fb0\" "
          "fill=\"%s\"><title>%s&#10;%s, %.2f ms "
          "measured, %.2f ms predicted, %s extra FLOPs</title></circle>\n",
          x, y, OnLine(shown_[k]) ? "#2a6fb0" : "white", memory::EscapeXml(tiles),
          Counted(point.arena_bytes, "byte"), point.measured_ms, point.predicted_ms,
          FormatPercent(point.extra_flops_ratio));
      // The line leaves a point upwards and to the left. Numbers of close neighbours step down.
      depth_ = last_x - x < 14 && depth_ < 2 ? depth_ + 1 : 0;
      last_x = x;
      svg.Text(x, OnLine(shown_[k]) ? y + 18 + 12 * depth_ : y - 9,
               " text-anchor=\"middle\" font-size=\"12\"", number);
      svg.Text(kLeft - 8, row, " text-anchor=\"end\"", number);
      svg.Text(kLeft + 80, row, " text-anchor=\"end\"", FormatBytes(point.arena_bytes));
      svg.Text(kLeft + 170, row, " text-anchor=\"end\"", FormatMilliseconds(point.measured_ms));
      svg.Text(kLeft + 240, row, " text-anchor=\"end\"", FormatPercent(point.extra_flops_ratio));
      svg.Text(kLeft + 260, row, " font-family=\"monospace\" font-size=\"12\"",
               FormatName(tiles, kTilesShown));
    }
  }

  const std::string& title_;
  const absl::Span<const FrontierPoint> points_;
  const std::vector<size_t> pareto_;
  std::vector<size_t> shown_;    // on the line, or with fewer operations
  double first_ = 0, last_ = 1;  // powers of two, bytes
  double slowest_ = 1;           // ms
  int depth_ = 0;                // lines by which the last number was lowered
  std::ostringstream out_;
};

}  // namespace

std::vector<size_t> ParetoPoints(absl::Span<const FrontierPoint> points) {
  std::vector<size_t> order(points.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const FrontierPoint &x = points[a], &y = points[b];
    return x.arena_bytes != y.arena_bytes ? x.arena_bytes < y.arena_bytes
                                          : x.measured_ms < y.measured_ms;
  });
  std::vector<size_t> pareto;
  for (const size_t i : order) {
    if (pareto.empty() || points[i].measured_ms < points[pareto.back()].measured_ms) {
      pareto.push_back(i);
    }
  }
  std::reverse(pareto.begin(), pareto.end());
  return pareto;
}

std::string FrontierSvg(const std::string& title, absl::Span<const FrontierPoint> points) {
  return Picture(title, points).Draw();
}

}  // namespace ashlar
