// Pictures in another size.
#ifndef ASHLAR_SERIALIZATION_RESAMPLE_H_
#define ASHLAR_SERIALIZATION_RESAMPLE_H_

#include "absl/status/statusor.h"
#include "serialization/pixels.h"

namespace ashlar {

// Bilinear, with antialiasing where the picture shrinks, as Pillow's resize(BILINEAR), and
// so torchvision's Resize of a picture, byte for byte where Pillow takes columns first; the order
// of the passes moves a byte by 1 at most. InvalidArgument where the
// result, or the picture that is as wide as the result and as high as `pixels`, is too large.
absl::StatusOr<Pixels> Resample(const Pixels& pixels, PictureSize size);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_RESAMPLE_H_
