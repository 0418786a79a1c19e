#include "memory/svg.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "memory/svg_raster.h"
#include "memory/svg_writer.h"

namespace ashlar::memory {
namespace {

// The picture in its own units; it scales to any size.
constexpr double kWidth = 1200, kHeight = 720;
constexpr double kLeft = 90, kRight = 1180, kTop = 50, kBottom = 660;  // of the plot
constexpr char kRasterColor[] = "#2a6";
constexpr char kAxisName[] = " text-anchor=\"middle\" stroke=\"none\"";  // attributes
constexpr size_t kMostEdges = 600;                   // with more boxes, only large ones have edges
constexpr double kLargeWidth = 8, kLargeHeight = 4;  // the size of a box that always has edges
constexpr double kLine = 13, kLetter = 6.2;          // of names in boxes, font size 11

std::string ExactBytes(int64_t bytes) {
  return absl::StrCat(bytes, bytes == 1 ? " byte" : " bytes");
}

// A box with room for a name.
struct Box {
  std::string name;
  double x = 0, y = 0, width = 0, height = 0;
};

class Picture {
 public:
  Picture(const Problem& problem, const Plan& plan, const SvgOptions& options, std::ostream& out)
      : problem_(problem),
        plan_(plan),
        options_(options),
        svg_(kWidth, kHeight, kLeft, options.title, out) {
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const Buffer& b = problem.buffers[i];
      first_ = i == 0 ? b.lower : std::min(first_, b.lower);
      last_ = i == 0 ? b.upper : std::max(last_, b.upper);
    }
    if (last_ <= first_) last_ = first_ + 1;
    highest_ = std::max<int64_t>({plan.arena + options.above, options.lower_bound, 1});
  }

  void Draw() {
    svg_ << "<defs><pattern id=\"workspace\" width=\"6\" height=\"6\" "
            "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"6\" "
            "height=\"6\" fill=\"#eee\"/><rect width=\"2\" height=\"6\" fill=\"#999\"/></pattern>"
            "</defs>\n";
    DrawAxes();
    if (is_raster()) DrawRaster();
    DrawBoxes();
    DrawLegend();
    // The arena's label is above its line, the bound's below: the lines may coincide.
    DrawLevel(plan_.arena, "arena", plan_.arena, "#c00", -4);
    if (options_.above > 0) {
      DrawLevel(plan_.arena + options_.above, options_.above_name, options_.above, "#c00", -4);
    }
    if (options_.lower_bound > 0) {
      DrawLevel(options_.lower_bound, "lower bound", options_.lower_bound, "#06c", 14);
    }
    svg_.End();
  }

 private:
  bool is_raster() const {
    return problem_.buffers.size() > static_cast<size_t>(options_.max_boxes);
  }
  double X(double step) const {
    return kLeft + (kRight - kLeft) * (step - static_cast<double>(first_)) /
                       (static_cast<double>(last_) - static_cast<double>(first_));
  }
  double Y(double address) const {
    return kBottom - (kBottom - kTop) * address / static_cast<double>(highest_);
  }

  void DrawAxes() {
    svg_ << "<g stroke=\"#ddd\" fill=\"#333\">\n";
    const int64_t address_tick = AddressTick();
    for (int64_t at = 0; at <= highest_; at += address_tick) {
      const double y = Y(static_cast<double>(at));
      svg_.Line(kLeft, y, kRight, y, "");
      svg_.Text(kLeft - 6, y + 4, " text-anchor=\"end\" stroke=\"none\"", ShortBytes(at));
      if (at > highest_ - address_tick) break;
    }
    // At most 12 ticks.
    const double span = static_cast<double>(last_) - static_cast<double>(first_);
    const int64_t step_tick = std::max<int64_t>(1, static_cast<int64_t>(RoundTick(span, 12)));
    const int64_t remainder = first_ % step_tick;
    int64_t at = first_ - remainder + (remainder > 0 ? step_tick : 0);
    for (; at <= last_; at += step_tick) {
      const double x = X(static_cast<double>(at));
      const std::string number = absl::StrCat(at);
      const bool cut = x + 4.2 * static_cast<double>(number.size()) > kWidth - 4;
      svg_.Line(x, kTop, x, kBottom, "");
      svg_.Text(cut ? kWidth - 4 : x, kBottom + 18,
                absl::StrCat(" text-anchor=\"", cut ? "end" : "middle", "\" stroke=\"none\""),
                number);
    }
    svg_.Text((kLeft + kRight) / 2, kBottom + 42, kAxisName, "step");
    svg_.VerticalText(16, (kTop + kBottom) / 2, kAxisName, "address");
    svg_ << "</g>\n";
  }

  // Returns a power of two, for 5 to 10 ticks.
  int64_t AddressTick() const {
    int64_t tick = 1;
    while (highest_ / tick > 10) tick *= 2;
    return tick;
  }

  // Returns a color: large buffers are warm, small ones cold, with a hue for each power of two.
  std::string Color(double size, int lightness) const {
    const double share = std::log2(static_cast<double>(highest_) / size);
    return absl::StrFormat("hsl(%.0f,70%%,%d%%)", std::clamp(20 + share * 22, 20.0, 260.0),
                           lightness);
  }

  // Returns the end of each buffer's box: the end of its lifetime, or the first step of the buffer
  // that takes over its bytes, so that no edge is drawn twice.
  std::vector<int64_t> Ends() const {
    std::vector<int64_t> ends;
    for (const Buffer& b : problem_.buffers) ends.push_back(b.upper);
    for (const Inside& relation : problem_.inside) {
      const bool inner_first =
          problem_.buffers[relation.inner].lower < problem_.buffers[relation.outer].lower;
      const int earlier = inner_first ? relation.inner : relation.outer;
      const Buffer& later = problem_.buffers[inner_first ? relation.outer : relation.inner];
      const Buffer& b = problem_.buffers[earlier];
      const bool same_bytes = relation.offset == 0 && b.size == later.size;
      // All bytes of an inner buffer are taken over.
      if ((inner_first || same_bytes) && b.lower < later.lower) {
        ends[earlier] = std::min(ends[earlier], later.lower);
      }
    }
    return ends;
  }

  // Draws the boxes. On a raster only large ones are drawn: their edges separate areas of one
  // shade.
  void DrawBoxes() {
    // With many boxes, edges would hide small ones; neighbours differ in lightness instead.
    const bool edges = problem_.buffers.size() <= kMostEdges;
    constexpr int kLightness[] = {72, 66, 78};
    svg_ << absl::StrFormat("<g stroke=\"%s\" stroke-width=\".4\">\n", edges ? "#333" : "none");
    const std::vector<int64_t> ends = Ends();
    std::vector<Box> labelled;
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      const Buffer& b = problem_.buffers[i];
      if (b.size == 0) continue;
      const double x = X(static_cast<double>(b.lower));
      const double width = X(static_cast<double>(ends[i])) - x;
      const double bottom = Y(static_cast<double>(plan_.offsets[i]));
      const double top = Y(static_cast<double>(plan_.offsets[i]) + static_cast<double>(b.size));
      const bool large = width >= kLargeWidth && bottom - top >= kLargeHeight;
      if (is_raster() && !large) continue;
      const bool workspace = !options_.workspaces.empty() && options_.workspaces[i];
      const std::string name =
          options_.names.empty() ? absl::StrCat("buffer ", b.id) : options_.names[i];
      const std::string color = Color(static_cast<double>(b.size), edges ? 72 : kLightness[i % 3]);
      svg_ << absl::StrFormat(
          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"%s>"
          "<title>%s&#10;%s (%s) at %d&#10;steps [%d, %d)</title></rect>\n",
          x, top, width, bottom - top, workspace ? "url(#workspace)" : color,
          large && !edges ? " stroke=\"#333\"" : "", EscapeXml(name), ExactBytes(b.size),
          ShortBytes(b.size), plan_.offsets[i], b.lower, b.upper);
      if (!workspace) labelled.push_back({name, x, top, width, bottom - top});
    }
    svg_ << "</g>\n<g font-size=\"11\" fill=\"#333\" text-anchor=\"middle\" "
            "pointer-events=\"none\">\n";
    for (const Box& box : labelled) DrawLabel(box);
    svg_ << "</g>\n";
  }

  // Draws a name in the middle of its box, horizontal or vertical, whichever shows more of it.
  // Draws nothing if there is no room for a few letters.
  void DrawLabel(const Box& box) {
    const bool lies =
        box.height >= kLine && (box.width >= box.height || box.width >= TextWidth(box.name) + 4);
    if (!lies && box.width < kLine) return;
    const double length = lies ? box.width : box.height;
    const size_t room = static_cast<size_t>(std::max(0.0, length - 4) / kLetter);
    if (room < std::min<size_t>(box.name.size(), 5)) return;
    std::string text = box.name;
    if (text.size() > room) {
      // The end of a network's name is the distinctive part. Bytes of a cut character are dropped.
      size_t begin = text.size() - (room - 1);
      while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
        ++begin;
      text = "\xE2\x80\xA6" + text.substr(begin);
    }
    const double middle_x = box.x + box.width / 2, middle_y = box.y + box.height / 2;
    if (lies) {
      svg_.Text(middle_x, middle_y + 4, "", text);
    } else {
      svg_.VerticalText(middle_x + 4, middle_y, "", text);
    }
  }

  static double TextWidth(const std::string& text) {
    return kLetter * static_cast<double>(text.size());
  }

  void DrawRaster() {
    svg_ << absl::StrFormat(
        "<g fill=\"%s\" shape-rendering=\"crispEdges\" transform=\"translate(%g %g) "
        "scale(%g %g)\"><title>%d buffers; the darker, the fuller</title>\n%s</g>\n",
        kRasterColor, kLeft, kBottom, (kRight - kLeft) / kRasterColumns,
        -(kBottom - kTop) / kRasterRows, problem_.buffers.size(),
        RasterPaths(problem_, plan_, {first_, last_, highest_}));
  }

  // Draws the legend of colors, below the picture.
  void DrawLegend() {
    const double y = kBottom + 32;
    const auto text = [&](double x, const char* anchor, const std::string& what) {
      svg_.Text(x, y + 10, absl::StrCat(" text-anchor=\"", anchor, "\""), what);
    };
    svg_ << "<g fill=\"#333\" font-size=\"12\">\n";
    if (is_raster()) {
      text(kRight - 156, "end",
           absl::StrCat(problem_.buffers.size(), " buffers, large ones by size; empty"));
      for (int shade = 1; shade <= kRasterShades; ++shade) {
        svg_ << absl::StrFormat(
            "<rect x=\"%g\" y=\"%g\" width=\"14\" height=\"12\" fill=\"%s\" opacity=\"%g\"/>\n",
            kRight - 150 + (shade - 1) * 14, y, kRasterColor,
            static_cast<double>(shade) / kRasterShades);
      }
      text(kRight, "end", "full");
    } else {
      text(kRight - 250, "end", "tensors: all of the arena");
      for (int halvings = 0; halvings <= 10; ++halvings) {
        svg_ << absl::StrFormat("<rect x=\"%g\" y=\"%g\" width=\"9\" height=\"12\" fill=\"%s\"/>\n",
                                kRight - 244 + halvings * 9, y,
                                Color(std::ldexp(static_cast<double>(highest_), -halvings), 72));
      }
      text(kRight - 140, "start", "1/1024");
      if (std::count(options_.workspaces.begin(), options_.workspaces.end(), true) > 0) {
        svg_ << absl::StrFormat(
            "<rect x=\"%g\" y=\"%g\" width=\"18\" height=\"12\" fill=\"url(#workspace)\" "
            "stroke=\"#333\" stroke-width=\".4\"/>\n",
            kRight - 88, y);
        text(kRight, "end", "workspace");
      }
    }
    svg_ << "</g>\n";
  }

  void DrawLevel(int64_t address, const std::string& label, int64_t bytes, const char* color,
                 int shift) {
    const double y = Y(static_cast<double>(address));
    svg_.Line(kLeft, y, kRight, y,
              absl::StrCat(" stroke=\"", color, "\" stroke-dasharray=\"6 3\""));
    svg_.Text(kRight, y + shift,
              absl::StrCat(" text-anchor=\"end\" fill=\"", color,
                           "\" stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\""),
              absl::StrCat(label, " ", ExactBytes(bytes), " (", ShortBytes(bytes), ")"));
  }

  const Problem& problem_;
  const Plan& plan_;
  const SvgOptions& options_;
  SvgWriter svg_;
  int64_t first_ = 0;
  int64_t last_ = 0;
  int64_t highest_ = 1;
};

}  // namespace

absl::Status WriteSvg(const Problem& problem, const Plan& plan, const SvgOptions& options,
                      std::ostream& out) {
  if (plan.offsets.size() != problem.buffers.size() ||
      (!options.names.empty() && options.names.size() != problem.buffers.size()) ||
      (!options.workspaces.empty() && options.workspaces.size() != problem.buffers.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture of ", problem.buffers.size(), " buffers got ", plan.offsets.size(),
                     " offsets and ", options.names.size(), " names"));
  }
  Picture(problem, plan, options, out).Draw();
  out.flush();
  if (!out) return absl::UnavailableError("writing the picture failed");
  return absl::OkStatus();
}

}  // namespace ashlar::memory
