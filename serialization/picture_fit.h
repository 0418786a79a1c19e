// Fits a picture to the size of a model's input.
#ifndef ASHLAR_SERIALIZATION_PICTURE_FIT_H_
#define ASHLAR_SERIALIZATION_PICTURE_FIT_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "serialization/pixels.h"

namespace ashlar {

struct PictureFit {
  enum class Scaling {
    kNone,         // decided by FitPicture: kStretch unless it is cropped
    kStretch,      // to the input's size, ignoring proportions
    kTo,           // to `scaled`, ignoring proportions
    kShorterSide,  // to `shorter_side`; the longer side in proportion, rounded down
    kLetterbox,    // as large as fits into the input, centred on `grey`; not cropped
  };
  Scaling scaling = Scaling::kNone;
  PictureSize scaled;
  int64_t shorter_side = 0;
  uint8_t grey = 114;
  std::optional<PictureSize> crop;  // then cut out of the centre
};

// Whether FitPicture changes the picture's proportions without having been asked to.
bool StretchesUnasked(PictureSize picture, PictureSize input, const PictureFit& fit);

// Returns the picture in the input's size. Returns InvalidArgument if the crop is larger than the
// picture, or if the result does not have the input's size.
absl::StatusOr<Pixels> FitPicture(const Pixels& pixels, PictureSize input, const PictureFit& fit);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PICTURE_FIT_H_
