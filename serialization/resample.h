// Resizes pictures.
#ifndef ASHLAR_SERIALIZATION_RESAMPLE_H_
#define ASHLAR_SERIALIZATION_RESAMPLE_H_

#include "absl/status/statusor.h"
#include "serialization/pixels.h"

namespace ashlar {

// Resizes bilinearly, with antialiasing when shrinking. This matches Pillow's resize(BILINEAR), and
// so torchvision's Resize of a picture, byte for byte if Pillow resizes columns first; another
// order changes bytes by at most 1. Returns InvalidArgument if the result is too large, or the
// intermediate picture, which is as wide as the result and as high as `pixels`.
absl::StatusOr<Pixels> Resample(const Pixels& pixels, PictureSize size);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_RESAMPLE_H_
