#include "library/printable.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "memory/utf8.h"

namespace ashlar {

std::string Printable(absl::string_view message) {
  std::string text;
  for (size_t i = 0; i < message.size();) {
    const size_t length = memory::Utf8Length(message, i);
    const absl::string_view character = message.substr(i, std::max<size_t>(length, 1));
    const auto first = static_cast<unsigned char>(character[0]);
    const bool c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
    if (first == '\n') {
      text += absl::StartsWith(message.substr(i + 1), "  ") ? "\n" : "\\n";
    } else if (length == 0 || c1 || absl::ascii_iscntrl(first)) {
      for (const char byte : character) {
        absl::StrAppendFormat(&text, "\\x%02x", static_cast<unsigned char>(byte));
      }
    } else {
      absl::StrAppend(&text, character);
    }
    i += character.size();
  }
  return text;
}

}  // namespace ashlar
