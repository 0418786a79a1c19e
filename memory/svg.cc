#include "memory/svg.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ashlar::memory {
namespace {

// The picture in its own units; it scales to any size.
constexpr double kWidth = 1200;
constexpr double kHeight = 720;
constexpr double kLeft = 90;
constexpr double kRight = 1180;
constexpr double kTop = 50;
constexpr double kBottom = 660;
// The raster of a picture of too many boxes.
constexpr int kColumns = 436;
constexpr int kRows = 244;
constexpr int kShades = 8;

std::string ExactBytes(int64_t bytes) {
  return absl::StrCat(bytes, bytes == 1 ? " byte" : " bytes");
}

std::string Bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat(value == std::floor(value) ? "%.0f %s" : "%.2f %s", value, kUnits[unit]);
}

// Length of the sequence that begins at text[i], or 0 if it is not UTF-8.
size_t Utf8Length(const std::string& text, size_t i) {
  const auto byte = [&](size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u;
  };
  const unsigned lead = byte(i);
  const size_t length = lead < 0x80   ? 1
                        : lead < 0xC2 ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(i + 1);
  // Overlong forms, surrogates, and beyond U+10FFFF.
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  // U+FFFE and U+FFFF are no characters of XML.
  if (lead == 0xEF && second == 0xBF && byte(i + 2) > 0xBD) return 0;
  return length;
}

class Picture {
 public:
  Picture(const Problem& problem, const Plan& plan, const SvgOptions& options, std::ostream& out)
      : problem_(problem), plan_(plan), options_(options), out_(out) {
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const Buffer& b = problem.buffers[i];
      first_ = i == 0 ? b.lower : std::min(first_, b.lower);
      last_ = i == 0 ? b.upper : std::max(last_, b.upper);
    }
    if (last_ <= first_) last_ = first_ + 1;
    highest_ = std::max<int64_t>({plan.arena, options.lower_bound, 1});
  }

  void Draw() {
    out_ << absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        kWidth, kHeight);
    out_ << absl::StrFormat("<text x=\"%g\" y=\"22\" font-size=\"16\">%s</text>\n", kLeft,
                            EscapeXml(options_.title));
    DrawAxes();
    if (problem_.buffers.size() > static_cast<size_t>(options_.max_boxes)) {
      DrawRaster();
    } else {
      DrawBoxes();
    }
    // The arena's label stands above its line, the bound's below: they may be one line.
    DrawLevel(plan_.arena, "arena", "#c00", -4);
    if (options_.lower_bound > 0) DrawLevel(options_.lower_bound, "lower bound", "#06c", 14);
    out_ << "</svg>\n";
  }

 private:
  double X(double step) const {
    return kLeft + (kRight - kLeft) * (step - static_cast<double>(first_)) /
                       (static_cast<double>(last_) - static_cast<double>(first_));
  }
  double Y(double address) const {
    return kBottom - (kBottom - kTop) * address / static_cast<double>(highest_);
  }

  void DrawAxes() {
    out_ << "<g stroke=\"#ddd\" fill=\"#333\">\n";
    const int64_t address_tick = AddressTick();
    for (int64_t at = 0; at <= highest_; at += address_tick) {
      const double y = Y(static_cast<double>(at));
      out_ << absl::StrFormat(
          "<path d=\"M%g %.2fH%g\"/><text x=\"%g\" y=\"%.2f\" text-anchor=\"end\" "
          "stroke=\"none\">%s</text>\n",
          kLeft, y, kRight, kLeft - 6, y + 4, Bytes(at));
      if (at > highest_ - address_tick) break;
    }
    const int64_t step_tick = StepTick();
    const int64_t remainder = first_ % step_tick;
    int64_t at = first_ - remainder + (remainder > 0 ? step_tick : 0);
    for (; at <= last_; at += step_tick) {
      const double x = X(static_cast<double>(at));
      out_ << absl::StrFormat(
          "<path d=\"M%.2f %gV%g\"/><text x=\"%.2f\" y=\"%g\" text-anchor=\"middle\" "
          "stroke=\"none\">%d</text>\n",
          x, kTop, kBottom, x, kBottom + 18, at);
    }
    out_ << absl::StrFormat(
        "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\" stroke=\"none\">step</text>\n"
        "<text transform=\"translate(16 %g) rotate(-90)\" text-anchor=\"middle\" "
        "stroke=\"none\">address</text>\n</g>\n",
        (kLeft + kRight) / 2, kBottom + 42, (kTop + kBottom) / 2);
  }

  // A power of two, 5 to 10 of them.
  int64_t AddressTick() const {
    int64_t tick = 1;
    while (highest_ / tick > 10) tick *= 2;
    return tick;
  }

  // 1, 2 or 5 times a power of ten, at most 12 of them.
  int64_t StepTick() const {
    const double span = static_cast<double>(last_) - static_cast<double>(first_);
    const double power = std::pow(10, std::floor(std::log10(std::max(1.0, span / 12))));
    for (double factor : {1, 2, 5}) {
      if (span / (factor * power) <= 12) return static_cast<int64_t>(factor * power);
    }
    return static_cast<int64_t>(10 * power);
  }

  void DrawBoxes() {
    out_ << "<g stroke=\"#333\" stroke-width=\".4\">\n";
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      const Buffer& b = problem_.buffers[i];
      if (b.size == 0) continue;
      const double x = X(static_cast<double>(b.lower));
      const double top = static_cast<double>(plan_.offsets[i]) + static_cast<double>(b.size);
      const std::string name =
          options_.names.empty() ? absl::StrCat("buffer ", b.id) : EscapeXml(options_.names[i]);
      // Large buffers are warm, small ones cold: a hue for each power of two.
      const double share = std::log2(static_cast<double>(highest_) / static_cast<double>(b.size));
      out_ << absl::StrFormat(
          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%.0f,70%%,72%%)\">"
          "<title>%s&#10;%s (%s) at %d&#10;steps [%d, %d)</title></rect>\n",
          x, Y(top), X(static_cast<double>(b.upper)) - x,
          Y(static_cast<double>(plan_.offsets[i])) - Y(top),
          std::clamp(20 + share * 22, 20.0, 260.0), name, ExactBytes(b.size), Bytes(b.size),
          plan_.offsets[i], b.lower, b.upper);
    }
    out_ << "</g>\n";
  }

  // How much of each cell of the raster is taken, by differences in both
  // directions, so that the work does not depend on the size of a buffer.
  std::vector<double> Coverage() const {
    struct Difference {
      int cell[4];
      double change[4];
    };
    // An interval in units of cells as the differences of how it covers them.
    const auto differences = [](double begin, double end, int cells) {
      const int first = std::clamp(static_cast<int>(begin), 0, cells - 1);
      const int last = std::clamp(static_cast<int>(end), 0, cells - 1);
      const double head = begin - first;
      const double tail = end - last;
      return Difference{{first, first + 1, last, last + 1}, {1 - head, head, tail - 1, -tail}};
    };
    std::vector<double> cover((kRows + 2) * (kColumns + 2), 0);
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      const Buffer& b = problem_.buffers[i];
      const double x = (X(static_cast<double>(b.lower)) - kLeft) / (kRight - kLeft) * kColumns;
      const double x_end = (X(static_cast<double>(b.upper)) - kLeft) / (kRight - kLeft) * kColumns;
      const double scale = kRows / static_cast<double>(highest_);
      const double y = static_cast<double>(plan_.offsets[i]) * scale;
      const double y_end = y + static_cast<double>(b.size) * scale;
      const Difference across = differences(x, x_end, kColumns);
      const Difference up = differences(y, y_end, kRows);
      for (int r = 0; r < 4; ++r) {
        for (int c = 0; c < 4; ++c) {
          cover[up.cell[r] * (kColumns + 2) + across.cell[c]] += up.change[r] * across.change[c];
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int c = 1; c < kColumns; ++c) {
        cover[r * (kColumns + 2) + c] += cover[r * (kColumns + 2) + c - 1];
      }
    }
    for (int r = 1; r < kRows; ++r) {
      for (int c = 0; c < kColumns; ++c) {
        cover[r * (kColumns + 2) + c] += cover[(r - 1) * (kColumns + 2) + c];
      }
    }
    return cover;
  }

  void DrawRaster() {
    const std::vector<double> cover = Coverage();
    const double width = (kRight - kLeft) / kColumns;
    const double height = (kBottom - kTop) / kRows;
    out_ << absl::StrFormat("<g fill=\"#2a6\"><title>%d buffers; the darker, the fuller</title>\n",
                            problem_.buffers.size());
    for (int r = 0; r < kRows; ++r) {
      const auto shade = [&](int c) {
        const double full = std::min(1.0, cover[r * (kColumns + 2) + c]);
        return static_cast<int>(std::lround(full * kShades));
      };
      for (int c = 0; c < kColumns;) {
        int end = c + 1;
        while (end < kColumns && shade(end) == shade(c)) ++end;
        if (shade(c) > 0) {
          out_ << absl::StrFormat(
              "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" opacity=\"%.3f\"/>\n",
              kLeft + c * width, kBottom - (r + 1) * height, (end - c) * width, height,
              static_cast<double>(shade(c)) / kShades);
        }
        c = end;
      }
    }
    out_ << "</g>\n";
  }

  void DrawLevel(int64_t bytes, const char* label, const char* color, int shift) {
    const double y = Y(static_cast<double>(bytes));
    out_ << absl::StrFormat(
        "<path d=\"M%g %.2fH%g\" stroke=\"%s\" stroke-dasharray=\"6 3\"/>"
        "<text x=\"%g\" y=\"%.2f\" text-anchor=\"end\" fill=\"%s\">%s %s (%s)</text>\n",
        kLeft, y, kRight, color, kRight, y + shift, color, label, ExactBytes(bytes), Bytes(bytes));
  }

  const Problem& problem_;
  const Plan& plan_;
  const SvgOptions& options_;
  std::ostream& out_;
  int64_t first_ = 0;
  int64_t last_ = 0;
  int64_t highest_ = 1;
};

}  // namespace

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text, i);
    const char c = text[i];
    if (length == 0 || (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F))) {
      escaped += c == '\n' || c == '\t' ? " " : "\xEF\xBF\xBD";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped.append(text, i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return escaped;
}

absl::Status WriteSvg(const Problem& problem, const Plan& plan, const SvgOptions& options,
                      std::ostream& out) {
  if (plan.offsets.size() != problem.buffers.size() ||
      (!options.names.empty() && options.names.size() != problem.buffers.size())) {
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
