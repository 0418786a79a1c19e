// Reads photographs and converts them to input tensors.
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

// Parses a whole PNG, JPEG or PPM file and turns it upright by its EXIF orientation. Grey becomes
// three equal channels; transparency is dropped. Returns InvalidArgument, naming `name`, for other
// formats, damaged files (each checksum of a PNG is checked) and more than 2^26 pixels.
absl::StatusOr<Pixels> ParseImage(absl::Span<const uint8_t> bytes, absl::string_view name);

// The conversion of pixel values (0 to 255) to (value - mean[c]) * scale[c]; channel c counts in
// the order of the tensor.
struct ChannelOptions {
  bool bgr = false;  // blue, green, red; otherwise red, green, blue
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> scale = {1, 1, 1};
};

// Returns Float32 {1,3,H,W}.
HostTensor ToPlanes(const Pixels& pixels, const ChannelOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_IMAGE_H_
