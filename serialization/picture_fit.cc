#include "serialization/picture_fit.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/resample.h"

namespace ashlar {
namespace {

std::string ToString(PictureSize size) { return absl::StrCat(size.height, " x ", size.width); }

PictureSize ByShorterSide(PictureSize size, int64_t shorter) {
  auto [height, width] = size;
  return height < width ? PictureSize{shorter, shorter * width / height}
                        : PictureSize{shorter * height / width, shorter};
}

// Half of an odd number is rounded to even, as in torchvision's CenterCrop.
absl::StatusOr<Pixels> Cropped(const Pixels& pixels, PictureSize size) {
  if (size.height > pixels.size.height || size.width > pixels.size.width) {
    return absl::InvalidArgumentError(absl::StrCat("a picture of ", ToString(pixels.size),
                                                   " pixels is too small to cut ", ToString(size),
                                                   " out of it"));
  }
  const auto half = [](int64_t n) { return std::llrint(static_cast<double>(n) / 2); };
  const int64_t top = half(pixels.size.height - size.height);
  const int64_t left = half(pixels.size.width - size.width);
  Pixels result = Pixels::Zeros(size);
  for (int64_t y = 0; y < size.height; ++y) {
    std::copy_n(pixels.at(top + y, left), size.width * Pixels::kChannels, result.at(y, 0));
  }
  return result;
}

// An odd row or column of grey comes last.
absl::StatusOr<Pixels> Letterboxed(const Pixels& pixels, PictureSize size, uint8_t grey) {
  const double scale =
      std::min(static_cast<double>(size.height) / static_cast<double>(pixels.size.height),
               static_cast<double>(size.width) / static_cast<double>(pixels.size.width));
  const auto scaled = [&](int64_t side, int64_t most) {
    return std::clamp<int64_t>(std::llrint(static_cast<double>(side) * scale), 1, most);
  };
  ASHLAR_ASSIGN_OR_RETURN(const Pixels inner,
                          Resample(pixels, {scaled(pixels.size.height, size.height),
                                            scaled(pixels.size.width, size.width)}));
  Pixels result = Pixels::Zeros(size);
  std::fill(result.data.begin(), result.data.end(), grey);
  const int64_t top = (size.height - inner.size.height) / 2;
  const int64_t left = (size.width - inner.size.width) / 2;
  for (int64_t y = 0; y < inner.size.height; ++y) {
    std::copy_n(inner.at(y, 0), inner.size.width * Pixels::kChannels, result.at(top + y, left));
  }
  return result;
}

absl::StatusOr<Pixels> Scaled(const Pixels& pixels, PictureSize input, const PictureFit& fit) {
  switch (fit.scaling) {
    case PictureFit::Scaling::kNone:
      if (fit.crop) return pixels;
      break;
    case PictureFit::Scaling::kStretch:
      break;
    case PictureFit::Scaling::kTo:
      return Resample(pixels, fit.scaled);
    case PictureFit::Scaling::kShorterSide:
      // Ensures that the longer side can be computed.
      ASHLAR_RETURN_IF_ERROR(
          CheckPictureSize({fit.shorter_side, fit.shorter_side}, "resized picture"));
      return Resample(pixels, ByShorterSide(pixels.size, fit.shorter_side));
    case PictureFit::Scaling::kLetterbox:
      return Letterboxed(pixels, input, fit.grey);
  }
  return Resample(pixels, input);
}

}  // namespace

bool StretchesUnasked(PictureSize picture, PictureSize input, const PictureFit& fit) {
  return fit.scaling == PictureFit::Scaling::kNone && !fit.crop &&
         picture.height * input.width != picture.width * input.height;
}

absl::StatusOr<Pixels> FitPicture(const Pixels& pixels, PictureSize input, const PictureFit& fit) {
  ASHLAR_RETURN_IF_ERROR(CheckPictureSize(input, "input"));
  ASHLAR_ASSIGN_OR_RETURN(Pixels result, Scaled(pixels, input, fit));
  if (fit.crop) {
    ASHLAR_ASSIGN_OR_RETURN(result, Cropped(result, *fit.crop));
  }
  if (result.size == input) return result;
  return absl::InvalidArgumentError(absl::StrCat("the picture is ", ToString(result.size),
                                                 " pixels then, and the input ", ToString(input)));
}

}  // namespace ashlar
