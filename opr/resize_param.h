// The parameters of Resize.
#ifndef ASHLAR_OPR_RESIZE_PARAM_H_
#define ASHLAR_OPR_RESIZE_PARAM_H_

#include <cstdint>
#include <vector>

namespace ashlar {

enum class ResizeMode { kNearest, kLinear, kCubic };

// The position of an output among the inputs (ONNX's coordinate_transformation_mode).
enum class ResizeCoordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixelForNn,
  kTfCropAndResize,
};

// Which input is the nearest.
enum class ResizeRounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct ResizeParam {
  std::vector<int64_t> axes;  // the resized axes; negative: from the end
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;  // of kNearest
  double cubic_a = -0.75;                                  // of kCubic
  bool exclude_outside = false;  // pixels outside have weight 0; otherwise the border repeats
  bool antialias = false;        // when shrinking, filters are as wide as the step
  double extrapolation = 0;      // outside of kTfCropAndResize's region
  bool rounds_sizes = false;     // with scales: to the nearest size, a half up; otherwise down
  // If this is a tile of a larger Resize: four numbers of that Resize per axis. These are the first
  // wanted output, the number of wanted outputs, the first given input, and the total number of
  // inputs.
  std::vector<int64_t> part = {};

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kModes[] = {"NEAREST", "LINEAR", "CUBIC"};
    static constexpr const char* kCoordinates[] = {
        "HALF_PIXEL", "HALF_PIXEL_SYMMETRIC", "PYTORCH_HALF_PIXEL", "ALIGN_CORNERS",
        "ASYMMETRIC", "TF_HALF_PIXEL_FOR_NN", "TF_CROP_AND_RESIZE"};
    static constexpr const char* kRoundings[] = {"ROUND_PREFER_FLOOR", "ROUND_PREFER_CEIL", "FLOOR",
                                                 "CEIL"};
    v("axes", axes);
    v("mode", mode, kModes);
    v("coordinates", coordinates, kCoordinates);
    v("rounding", rounding, kRoundings);
    v.Optional("cubic_a", cubic_a, -0.75);
    v.Optional("exclude_outside", exclude_outside, false);
    v.Optional("antialias", antialias, false);
    v.Optional("extrapolation", extrapolation, 0.0);
    v.Optional("rounds_sizes", rounds_sizes, false);
    v.Optional("part", part, std::vector<int64_t>());
  }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_PARAM_H_
