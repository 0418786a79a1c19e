// Photographs as input tensors.
#ifndef ASHLAR_SERIALIZATION_IMAGE_H_
#define ASHLAR_SERIALIZATION_IMAGE_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graph/tensor.h"

namespace ashlar {

// What becomes of a pixel's channel c (red, green, blue; 0 to 255): (value - mean[c]) * scale[c].
struct ImageOptions {
  int64_t height = 0, width = 0;  // of the result, stretched bilinearly; 0: as in the file
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> scale = {1, 1, 1};
};

// A PNG, JPEG or PPM file as Float32 {1,3,H,W}; grey becomes three equal channels, transparency is
// dropped. InvalidArgument for other formats, broken files and more than 2^26 pixels.
absl::StatusOr<HostTensor> ReadImage(const std::string& path, const ImageOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_IMAGE_H_
