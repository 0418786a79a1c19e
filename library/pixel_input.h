// Pixels as cameras and decoders give them, converted by the model itself: bytes {N,H,W,C} become
// the floats {N,C,H,W} of an input, resized and normalised. The conversion is a part of the graph,
// so a plan counts its memory and computes it in tiles.
#ifndef ASHLAR_LIBRARY_PIXEL_INPUT_H_
#define ASHLAR_LIBRARY_PIXEL_INPUT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "library/model.h"
#include "library/yuv_frame.h"

namespace ashlar {

struct PixelInput {
  std::string input;  // its binding; "": the model's only one
  std::optional<std::array<int64_t, 2>>
      size;                         // height and width of a picture; nullopt: the input's
  bool bgr = false;                 // the channels come in reverse order
  std::optional<YuvFrame> yuv;      // bytes {N,H*3/2,W}; `bgr`: for a model of blue, green, red
  std::vector<double> mean, scale;  // (x - mean) * scale, by channel of the input, or one for
                                    // all; empty: 0 and 1
};

// Parses "[NAME=]PART,...", each PART one of 480x640, rgb, bgr, imagenet, mean:R/G/B, scale:R/G/B,
// nv12, nv21, i420, yv12, bt601, bt709, limited, full.
// InvalidArgument names the part.
absl::StatusOr<PixelInput> ParsePixelInput(absl::string_view text);

// Returns the model with Uint8 {N,H,W,C}, or {N,H*3/2,W}, for the input, whose type must be a float
// {N,C,H,W}, or {N,H,W,C} of 1, 3 or 4 channels; its name stays. Pictures of other sizes are scaled
// as `run` scales them: bilinear, with antialiasing. InvalidArgument if there is no such input, or
// if it has another type; UsePlainWeights's errors.
absl::StatusOr<Model> WithPixelInput(Model model, const PixelInput& pixels);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_PIXEL_INPUT_H_
