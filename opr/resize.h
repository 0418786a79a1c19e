// Resize: samples a tensor at other points along some of its axes.
#ifndef ASHLAR_OPR_RESIZE_H_
#define ASHLAR_OPR_RESIZE_H_

#include <vector>

#include "opr/regions.h"

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

// Inputs: x, not empty; the target, by axis of `axes`; with kTfCropAndResize, the region of x to
// resize. Target and region are known before the run.
// - The target is a vector of new sizes (Int32, Int64) or of scales (Float32). For a scale, a size
//   is floor(size * scale), or with rounds_sizes the nearest to the product.
// - The region is a Float32 vector in [0, 1]: its starts by axis, then its ends.
//
// Linear and cubic accept floats, kNearest any dtype. Output: x's dtype.
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
  // For floats, products with matrices of weights.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_H_
