// The orientation of the camera that a picture file states (Exif 2.32, tag 274).
#ifndef ASHLAR_SERIALIZATION_EXIF_H_
#define ASHLAR_SERIALIZATION_EXIF_H_

#include "absl/strings/string_view.h"
#include "serialization/pixels.h"

namespace ashlar {

// The sides of the upright picture at which the first stored row and column belong.
enum class Orientation {
  kTopLeft = 1,  // as stored
  kTopRight,
  kBottomRight,
  kBottomLeft,
  kLeftTop,
  kRightTop,
  kRightBottom,
  kLeftBottom,
};

// Returns the orientation stated in a whole JPEG or PNG file, or kTopLeft if it states none that
// can be read.
Orientation OrientationOf(absl::string_view file);

// Returns the picture turned upright.
Pixels Upright(Pixels pixels, Orientation orientation);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_EXIF_H_
