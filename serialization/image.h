// Photographs as input tensors.
#ifndef ASHLAR_SERIALIZATION_IMAGE_H_
#define ASHLAR_SERIALIZATION_IMAGE_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "serialization/pixels.h"

namespace ashlar {

// The bytes of a whole PNG, JPEG or PPM file, turned upright as its EXIF orientation says; grey
// becomes three equal channels, transparency is dropped. InvalidArgument, naming `name`, for other
// formats, broken files (of a PNG each checksum counts) and more than 2^26 pixels.
absl::StatusOr<Pixels> ParseImage(absl::Span<const uint8_t> bytes, absl::string_view name);

// The numbers made of a pixel's values (0 to 255): (value - mean[c]) * scale[c], where channel c
// counts in the order of the tensor.
struct ChannelOptions {
  bool bgr = false;  // blue, green, red; else red, green, blue
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> scale = {1, 1, 1};
};

// Float32 {1,3,H,W}.
HostTensor ToPlanes(const Pixels& pixels, const ChannelOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_IMAGE_H_
