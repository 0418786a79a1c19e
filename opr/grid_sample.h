// GridSample: an image sampled at points that another tensor names.
#ifndef ASHLAR_OPR_GRID_SAMPLE_H_
#define ASHLAR_OPR_GRID_SAMPLE_H_

#include <array>

#include "opr/base.h"

namespace ashlar {

enum class GridSampleMode { kNearest, kLinear, kCubic };

// The values outside of the image.
enum class GridSamplePadding {
  kZeros,
  kBorder,      // the nearest pixel
  kReflection,  // the image, mirrored again and again
};

struct GridSampleParam {
  GridSampleMode mode = GridSampleMode::kLinear;
  GridSamplePadding padding = GridSamplePadding::kZeros;
  bool align_corners =
      false;  // -1 and 1 are the middles of the first and last pixel, not the edges

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kModes[] = {"NEAREST", "LINEAR", "CUBIC"};
    static constexpr const char* kPaddings[] = {"ZEROS", "BORDER", "REFLECTION"};
    v("mode", mode, kModes);
    v("padding", padding, kPaddings);
    v("align_corners", align_corners);
  }
};

// One axis of one point: pixels and their weights; a zero outside of the image weighs nothing.
struct GridTaps {
  static constexpr int kMost = 4;
  std::array<int64_t, kMost> pixel = {};
  std::array<double, kMost> weight = {};
};
// Of nearest 1, of linear 2, of cubic 4.
constexpr int GridTapCount(GridSampleMode mode) {
  return mode == GridSampleMode::kNearest ? 1 : mode == GridSampleMode::kLinear ? 2 : 4;
}
// `coordinate` is the grid's, `size` the image's along the axis.
GridTaps GridTapsAt(const GridSampleParam& param, double coordinate, int64_t size);

// Inputs, of one dtype of floats: x [N, C, H, W]; grid [N, oh, ow, 2], points as x and y in
// [-1, 1], or outside. Output: [N, C, oh, ow].
class GridSample final : public OperatorWithParam<GridSampleParam> {
 public:
  ASHLAR_OPERATOR("GridSample", "grid_sample")
  int64_t Computation(const Site& site) const override;
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_GRID_SAMPLE_H_
