#include "tools/report/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "memory/svg_writer.h"

namespace ashlar {
namespace {

// In the picture's own units; it scales to any size.
constexpr double kCurveWidth = 900, kCurveHeight = 440;
constexpr double kCurveLeft = 80, kCurveRight = 870, kCurveTop = 50, kCurveBottom = 390;
// Most points of the thin line; with more steps each point is a mean.
constexpr int64_t kMostPoints = 2000;
constexpr char kRightAligned[] = " text-anchor=\"end\"";  // attributes

bool IsShown(double loss) { return loss > 0 && std::isfinite(loss); }

double MeanOf(absl::Span<const float> losses) {
  double sum = 0, count = 0;
  for (const float loss : losses) {
    if (!IsShown(loss)) continue;
    sum += loss;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

class Curve {
 public:
  Curve(absl::Span<const float> losses, int64_t steps_per_epoch)
      : losses_(losses), per_epoch_(std::max<int64_t>(1, steps_per_epoch)) {
    double least = INFINITY, most = 0;
    for (const float loss : losses) {
      if (!IsShown(loss)) continue;
      least = std::min<double>(least, loss);
      most = std::max<double>(most, loss);
    }
    if (most == 0) least = most = 1;
    first_ = std::floor(std::log10(least));
    last_ = std::max(first_ + 1, std::ceil(std::log10(most)));
  }

  std::string Draw(const std::string& title) {
    memory::SvgWriter svg(kCurveWidth, kCurveHeight, kCurveLeft, title, out_);
    for (double power = first_; power <= last_; ++power) {
      const double y = Y(std::pow(10, power));
      svg.Line(kCurveLeft, y, kCurveRight, y, " stroke=\"#ddd\"");
      svg.Text(kCurveLeft - 8, y + 4, kRightAligned, absl::StrFormat("%g", std::pow(10, power)));
    }
    const int64_t steps = static_cast<int64_t>(losses_.size());
    const int64_t stride = std::max<int64_t>(1, (steps + kMostPoints - 1) / kMostPoints);
    Line(stride, "#7aa6d8", 1);
    if (steps >= per_epoch_) Line(per_epoch_, "#b03a2e", 2.5);
    svg.Text(kCurveLeft, kCurveBottom + 24, "", "step 1");
    svg.Text(kCurveRight, kCurveBottom + 24, kRightAligned,
             absl::StrCat("step ", steps, "; thick: the mean of each epoch of ", per_epoch_));
    svg.End();
    return std::move(out_).str();
  }

 private:
  double X(double step) const {
    const double steps = std::max<double>(1, static_cast<double>(losses_.size()));
    return kCurveLeft + (kCurveRight - kCurveLeft) * step / steps;
  }
  double Y(double loss) const {
    return kCurveBottom -
           (kCurveBottom - kCurveTop) * (std::log10(loss) - first_) / (last_ - first_);
  }

  // Draws a line through the mean of every `stride` steps, at their middle.
  void Line(int64_t stride, const char* color, double width) {
    const int64_t steps = static_cast<int64_t>(losses_.size());
    out_ << absl::StrFormat("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" points=\"",
                            color, width);
    for (int64_t begin = 0; begin < steps; begin += stride) {
      const int64_t count = std::min(stride, steps - begin);
      const double mean =
          MeanOf(losses_.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)));
      if (mean <= 0) continue;
      const double middle = static_cast<double>(begin) + static_cast<double>(count) / 2;
      out_ << absl::StrFormat("%.1f,%.1f ", X(middle), Y(mean));
    }
    out_ << "\"/>\n";
  }

  const absl::Span<const float> losses_;
  const int64_t per_epoch_;
  double first_ = 0, last_ = 1;  // powers of ten
  std::ostringstream out_;
};

}  // namespace

std::string DrawLossCurve(const std::string& title, absl::Span<const float> losses,
                          int64_t steps_per_epoch) {
  return Curve(losses, steps_per_epoch).Draw(title);
}

}  // namespace ashlar
