#include "serialization/exif.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "serialization/png_chunks.h"

namespace ashlar {
namespace {

constexpr absl::string_view kExif("Exif\0\0", 6);
constexpr uint32_t kOrientationTag = 274, kShort = 3;

// A block of tags in TIFF format; "II" or "MM" gives the byte order.
class Tiff {
 public:
  explicit Tiff(absl::string_view block) : block_(block), little_(absl::StartsWith(block, "II")) {}

  Orientation Find() const {
    constexpr size_t kEntry = 12;
    const bool big = absl::StartsWith(block_, "MM");
    if ((!little_ && !big) || Number(2, 2) != 42) return Orientation::kTopLeft;
    const size_t directory = Number(4, 4);
    const size_t count = Number(directory, 2);
    for (size_t i = 0; i < count; ++i) {
      const size_t entry = directory + 2 + i * kEntry;
      if (entry + kEntry > block_.size()) break;
      if (Number(entry, 2) != kOrientationTag || Number(entry + 2, 2) != kShort) continue;
      const uint32_t value = Number(entry + 8, 2);
      if (value >= 1 && value <= 8) return static_cast<Orientation>(value);
    }
    return Orientation::kTopLeft;
  }

 private:
  // Returns 0 outside the block.
  uint32_t Number(size_t at, size_t bytes) const {
    if (at > block_.size() || bytes > block_.size() - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value = value << 8 | static_cast<uint8_t>(block_[at + (little_ ? bytes - 1 - i : i)]);
    }
    return value;
  }

  absl::string_view block_;
  bool little_;
};

// Returns the tags of a JPEG file, from a segment APP1 before the first scan.
absl::string_view JpegTags(absl::string_view file) {
  constexpr uint8_t kMarker = 0xff, kApp1 = 0xe1, kStartOfScan = 0xda;
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(file[at]); };
  for (size_t at = 2; at + 4 <= file.size();) {
    if (byte(at) != kMarker) return "";
    const uint8_t type = byte(at + 1);
    if (type == kMarker) {  // padding bytes 0xff before a marker
      ++at;
      continue;
    }
    if (type == kStartOfScan) return "";
    const size_t length = byte(at + 2) << 8 | byte(at + 3);
    if (length < 2 || length > file.size() - at - 2) return "";
    absl::string_view data = file.substr(at + 4, length - 2);
    if (type == kApp1 && absl::ConsumePrefix(&data, kExif)) return data;
    at += 2 + length;
  }
  return "";
}

absl::string_view PngTags(absl::string_view file) {
  const absl::StatusOr<std::vector<PngChunk>> chunks = PngChunks(file);
  if (!chunks.ok()) return "";
  for (const PngChunk& chunk : *chunks) {
    if (chunk.type == "eXIf") return chunk.data;
  }
  return "";
}

}  // namespace

Orientation OrientationOf(absl::string_view file) {
  return Tiff(IsPng(file) ? PngTags(file) : JpegTags(file)).Find();
}

Pixels Upright(Pixels pixels, Orientation orientation) {
  if (orientation == Orientation::kTopLeft) return pixels;
  const auto [height, width] = pixels.size;
  const bool turned = orientation >= Orientation::kLeftTop;
  // Whether the stored first row is at the bottom, and the stored first column on the right.
  const bool from_below =
      orientation == Orientation::kBottomRight || orientation == Orientation::kBottomLeft ||
      orientation == Orientation::kRightTop || orientation == Orientation::kRightBottom;
  const bool from_right =
      orientation == Orientation::kTopRight || orientation == Orientation::kBottomRight ||
      orientation == Orientation::kRightBottom || orientation == Orientation::kLeftBottom;
  Pixels upright = Pixels::Zeros(turned ? PictureSize{width, height} : pixels.size);
  for (int64_t y = 0; y < upright.size.height; ++y) {
    for (int64_t x = 0; x < upright.size.width; ++x) {
      const int64_t row = turned ? x : y, column = turned ? y : x;
      std::copy_n(
          pixels.at(from_below ? height - 1 - row : row, from_right ? width - 1 - column : column),
          Pixels::kChannels, upright.at(y, x));
    }
  }
  return upright;
}

}  // namespace ashlar
