// Resize: a tensor sampled at other points along some of its axes.
#ifndef ASHLAR_OPR_RESIZE_H_
#define ASHLAR_OPR_RESIZE_H_

#include <vector>

#include "opr/regions.h"

namespace ashlar {

enum class ResizeMode { kNearest, kLinear, kCubic };

// Where an output lies among the inputs (ONNX's coordinate_transformation_mode).
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
  std::vector<int64_t> axes;  // that are resized; negative: from the end
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;  // of kNearest
  double cubic_a = -0.75;                                  // of kCubic
  bool exclude_outside = false;  // pixels outside weigh nothing; else the border repeats
  bool antialias = false;        // where it gets smaller, filters as wide as the step
  double extrapolation = 0;      // outside of the region of kTfCropAndResize
  bool rounds_sizes = false;     // by scales: to the nearest size, a half up; else down
  // Where this is a part of a larger Resize, by axis four numbers of that one: the first output
  // that is wanted, how many, the first input that is given, and how many it has.
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

// Inputs: x, not empty; the target by axis of `axes`, a vector of new sizes (Int32, Int64) or of
// scales (Float32), for which a size is floor(size * scale), or with rounds_sizes the nearest to
// that product; with kTfCropAndResize the region of x that is resized, a Float32 vector of its
// beginnings by axis, then its ends, in [0, 1]. Target and region are known before the run. Linear
// and cubic take floats, kNearest anything. Output: x's dtype.
class Resize final : public OperatorWithParam<ResizeParam> {
 public:
  ASHLAR_OPERATOR("Resize", "resize")
  InputUse input_use(int input) const override {
    return input == 0 ? InputUse::kDeviceValue : InputUse::kHostValue;
  }
  StorageRules storage_rules(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  ASHLAR_CUTS_OUTPUT_AND_INPUT()
  bool CropsInput(int input) const override;
  // Products with matrices of weights, for floats.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_H_
