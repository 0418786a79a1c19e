// Pictures as rows of pixels, three bytes each: red, green, blue.
#ifndef ASHLAR_SERIALIZATION_PIXELS_H_
#define ASHLAR_SERIALIZATION_PIXELS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ashlar {

struct PictureSize {
  int64_t height = 0, width = 0;  // in pixels

  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

struct Pixels {
  static constexpr int kChannels = 3;

  PictureSize size;
  std::vector<uint8_t> data;

  const uint8_t* at(int64_t y, int64_t x) const { return &data[(y * size.width + x) * kChannels]; }
  uint8_t* at(int64_t y, int64_t x) { return &data[(y * size.width + x) * kChannels]; }

  // Returns a black picture. The size must pass CheckPictureSize.
  static Pixels Zeros(PictureSize size) {
    return {size, std::vector<uint8_t>(size.height * size.width * kChannels)};
  }
};

// Returns InvalidArgument, naming `what`, for no pixels and for more than 2^26.
absl::Status CheckPictureSize(PictureSize size, absl::string_view what);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PIXELS_H_
