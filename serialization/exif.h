// How a camera was held: the orientation that a picture file states (Exif 2.32, tag 274).
#ifndef ASHLAR_SERIALIZATION_EXIF_H_
#define ASHLAR_SERIALIZATION_EXIF_H_

#include "absl/strings/string_view.h"
#include "serialization/pixels.h"

namespace ashlar {

// Where the first row and the first column of the stored picture are to be seen.
enum class Orientation {
  kTopLeft = 1,  // as it is stored
  kTopRight,
  kBottomRight,
  kBottomLeft,
  kLeftTop,
  kRightTop,
  kRightBottom,
  kLeftBottom,
};

// Of a whole JPEG or PNG file; kTopLeft where none is stated, or none that can be read.
Orientation OrientationOf(absl::string_view file);

// The picture as it is to be seen.
Pixels Upright(Pixels pixels, Orientation orientation);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_EXIF_H_
