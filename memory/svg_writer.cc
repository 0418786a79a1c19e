#include "memory/svg_writer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "memory/utf8.h"

namespace ashlar::memory {

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

double RoundTick(double span, double most) {
  const double power = std::pow(10, std::floor(std::log10(span / most)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (span <= most * factor * power) return factor * power;
  }
  return 10 * power;
}

std::string ShortBytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit < 6) {
    value /= 1024;
    ++unit;
  }
  const int digits = value == std::floor(value) ? 0 : 2;
  return absl::StrFormat("%.*f %s", digits, value, kUnits[unit]);
}

SvgWriter::SvgWriter(double width, double height, double left, const std::string& title,
                     std::ostream& out)
    : out_(out) {
  out_ << absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      width, height);
  Text(left, 26, " font-size=\"16\"", title);
}

void SvgWriter::Text(double x, double y, absl::string_view attributes, const std::string& text) {
  out_ << absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", x, y, attributes,
                          EscapeXml(text));
}

void SvgWriter::VerticalText(double x, double y, absl::string_view attributes,
                             const std::string& text) {
  out_ << absl::StrFormat("<text transform=\"translate(%.1f %.1f) rotate(-90)\"%s>%s</text>\n", x,
                          y, attributes, EscapeXml(text));
}

void SvgWriter::Line(double x1, double y1, double x2, double y2, absl::string_view attributes) {
  out_ << absl::StrFormat("<path d=\"M%.1f %.1fL%.1f %.1f\"%s/>\n", x1, y1, x2, y2, attributes);
}

}  // namespace ashlar::memory
