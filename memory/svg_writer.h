// Writes pictures as SVG: a page, texts, and the ticks of axes.
#ifndef ASHLAR_MEMORY_SVG_WRITER_H_
#define ASHLAR_MEMORY_SVG_WRITER_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace ashlar::memory {

// Returns `text` as XML character data: escapes markup, and replaces control characters and invalid
// UTF-8.
std::string EscapeXml(const std::string& text);

// Returns 1, 2 or 5 times a power of ten, so that at most `most` ticks make up `span`.
double RoundTick(double span, double most);

// Formats bytes in few characters: "8 MiB", "1.50 KiB".
std::string ShortBytes(int64_t bytes);

// A picture in its own units; it scales to any size. Attributes begin with a space: " fill='red'".
class SvgWriter {
 public:
  // Begins a white page with `title` at the top, from `left` on.
  SvgWriter(double width, double height, double left, const std::string& title, std::ostream& out);

  // Writes elements that are complete.
  SvgWriter& operator<<(absl::string_view elements) {
    out_ << elements;
    return *this;
  }
  void Text(double x, double y, absl::string_view attributes, const std::string& text);
  // Writes a text from bottom to top.
  void VerticalText(double x, double y, absl::string_view attributes, const std::string& text);
  void Line(double x1, double y1, double x2, double y2, absl::string_view attributes);
  void End() { out_ << "</svg>\n"; }

 private:
  std::ostream& out_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_SVG_WRITER_H_
