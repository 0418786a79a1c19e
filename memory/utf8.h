// Checks UTF-8 (RFC 3629) in texts from files.
#ifndef ASHLAR_MEMORY_UTF8_H_
#define ASHLAR_MEMORY_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace ashlar::memory {

// Returns the bytes of the character that begins at text[i], or 0 if none does. U+FFFE and U+FFFF,
// which are not XML characters, give 0, too.
inline size_t Utf8Length(absl::string_view text, size_t i) {
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
  // overlong forms, surrogates, and code points above U+10FFFF
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return 0;
  }
  if (lead == 0xEF && second == 0xBF && byte(i + 2) > 0xBD) return 0;
  return length;
}

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_UTF8_H_
