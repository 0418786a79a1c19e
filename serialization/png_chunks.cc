#include "serialization/png_chunks.h"

#include <zlib.h>

#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/crc32.h"

namespace ashlar {
namespace {

constexpr absl::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
constexpr size_t kWidthAt = 16, kHeightAt = 20, kSizeEnd = 24;
constexpr size_t kHead = 8, kCrc = 4;  // in a chunk: length and type; CRC-32

template <typename... Parts>
absl::Status Broken(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("broken PNG: ", parts...));
}

// Big-endian.
uint32_t NumberAt(absl::string_view text, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(text[at + i]);
  return value;
}

// Shows the type only if it consists of letters, because it comes from a file.
std::string NameOf(absl::string_view type) {
  std::string name(type);
  for (char& c : name) {
    if (!absl::ascii_isalpha(c)) c = '?';
  }
  return name;
}

Bytef* BytesOf(absl::string_view data) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
}

}  // namespace

bool IsPng(absl::string_view file) { return absl::StartsWith(file, "\x89PNG"); }

std::optional<PictureSize> PngSize(absl::string_view file) {
  if (file.size() < kSizeEnd) return std::nullopt;
  return PictureSize{NumberAt(file, kHeightAt), NumberAt(file, kWidthAt)};
}

absl::StatusOr<std::vector<PngChunk>> PngChunks(absl::string_view file) {
  if (!absl::StartsWith(file, kSignature)) return Broken("its first bytes are not a PNG's");
  std::vector<PngChunk> chunks;
  for (size_t at = kSignature.size(); at < file.size();) {
    const size_t left = file.size() - at;
    const size_t length = left < kHead ? 0 : NumberAt(file, at);
    if (left < kHead + kCrc || length > left - kHead - kCrc) {
      return Broken("the chunk at byte ", at, " is cut off");
    }
    const PngChunk chunk = {file.substr(at + 4, 4), file.substr(at + kHead, length)};
    // Type and data are contiguous.
    if (Crc32(0, chunk.type.data(), 4 + length) != NumberAt(file, at + kHead + length)) {
      return Broken("the chunk ", NameOf(chunk.type), " at byte ", at, " has a wrong CRC-32");
    }
    chunks.push_back(chunk);
    if (chunk.type == "IEND") return chunks;
    at += kHead + length + kCrc;
  }
  return Broken("it ends without the chunk IEND");
}

absl::Status CheckPngPixels(absl::Span<const PngChunk> chunks, PictureSize size) {
  // Four channels of 16 bits. The seven passes of an interlaced picture have fewer than 2 h + 7
  // rows. Each row has a byte for its filter and one for the rest of its last byte.
  const int64_t most = 8 * size.height * size.width + 4 * size.height + 14;
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return absl::ResourceExhaustedError("zlib: no memory");
  std::array<Bytef, 1 << 15> buffer;
  int result = Z_OK;
  int64_t total = 0;
  for (const PngChunk& chunk : chunks) {
    if (chunk.type != "IDAT" || result == Z_STREAM_END) continue;
    stream.next_in = BytesOf(chunk.data);
    stream.avail_in = static_cast<uInt>(chunk.data.size());
    do {
      stream.next_out = buffer.data();
      stream.avail_out = buffer.size();
      result = inflate(&stream, Z_NO_FLUSH);
      total += static_cast<int64_t>(buffer.size()) - stream.avail_out;
      // Z_BUF_ERROR: the bytes of this chunk are used up.
    } while (result == Z_OK && total <= most && (stream.avail_in > 0 || stream.avail_out == 0));
    if (result == Z_BUF_ERROR) result = Z_OK;
    if (result != Z_OK || total > most) break;
  }
  inflateEnd(&stream);
  if (total > most) return Broken("its pixels are more than ", size.height, " x ", size.width);
  if (result == Z_STREAM_END) return absl::OkStatus();
  return result == Z_OK ? Broken("its pixels are cut off")
                        : Broken("its pixels cannot be decompressed");
}

}  // namespace ashlar
