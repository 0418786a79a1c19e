// Picture files made by hand, byte by byte.
#ifndef ASHLAR_TESTS_SERIALIZATION_PICTURE_FILES_H_
#define ASHLAR_TESTS_SERIALIZATION_PICTURE_FILES_H_

#include <zlib.h>

#include <string>

#include "serialization/image.h"

namespace ashlar::testing {

inline absl::StatusOr<Pixels> ParsePicture(const std::string& file) {
  return ParseImage({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "picture");
}

// Returns four bytes, big-endian.
inline std::string Number(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

inline std::string PngChunkText(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), body.size());
  return Number(data.size()) + body + Number(crc);
}

inline std::string Deflated(const std::string& bytes) {
  std::string stream(compressBound(bytes.size()), '\0');
  uLongf size = stream.size();
  compress(reinterpret_cast<Bytef*>(stream.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return stream.substr(0, size);
}

// Returns a PNG with a byte each for red, green and blue; `chunks` come between the first and the
// last.
inline std::string Png(PictureSize size, const std::string& chunks) {
  const std::string header =
      Number(size.width) + Number(size.height) + std::string("\x08\x02\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + PngChunkText("IHDR", header) + chunks + PngChunkText("IEND", "");
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_PICTURE_FILES_H_
