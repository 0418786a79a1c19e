// How a picture comes to the size of a model's input.
#ifndef ASHLAR_SERIALIZATION_PICTURE_FIT_H_
#define ASHLAR_SERIALIZATION_PICTURE_FIT_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "serialization/pixels.h"

namespace ashlar {

struct PictureFit {
  enum class Scaling {
    kNone,         // left to FitPicture: as kStretch where it is not cropped
    kStretch,      // to the input's size, whatever its proportions
    kTo,           // to `scaled`, likewise
    kShorterSide,  // to `shorter_side`, the longer one in proportion, rounded down
    kLetterbox,    // as large as fits into the input, in the middle of `grey`; nothing is cropped
  };
  Scaling scaling = Scaling::kNone;
  PictureSize scaled;
  int64_t shorter_side = 0;
  uint8_t grey = 114;
  std::optional<PictureSize> crop;  // then cut out of the middle
};

// Whether FitPicture changes the picture's proportions though nobody said that it may.
bool StretchesUnasked(PictureSize picture, PictureSize input, const PictureFit& fit);

// The picture in the input's size. InvalidArgument where there is less than is to be cut out, and
// where the result has another size than the input.
absl::StatusOr<Pixels> FitPicture(const Pixels& pixels, PictureSize input, const PictureFit& fit);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PICTURE_FIT_H_
