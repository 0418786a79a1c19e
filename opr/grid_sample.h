// GridSample: samples an image at points given by another tensor.
#ifndef ASHLAR_OPR_GRID_SAMPLE_H_
#define ASHLAR_OPR_GRID_SAMPLE_H_

#include <array>

#include "opr/base/base.h"
#include "opr/base/grid_taps.h"

namespace ashlar {

struct GridSampleParam : GridSampling {
  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kModes[] = {"NEAREST", "LINEAR", "CUBIC"};
    static constexpr const char* kPaddings[] = {"ZEROS", "BORDER", "REFLECTION"};
    v("mode", mode, kModes);
    v("padding", padding, kPaddings);
    v("align_corners", align_corners);
  }
};

// Pixels around one point of a plane or a volume, as offsets in it, and their weights, side^axes of
// them; `point` has the last axis first.
struct GridPoint {
  static constexpr int kMost = GridTaps::kMost * GridTaps::kMost;
  int count = 1;
  std::array<int64_t, kMost> offset = {};
  std::array<double, kMost> weight = {1};
};
template <typename T>
GridPoint GridPointAt(const GridSampleParam& param, const T* point,
                      absl::Span<const int64_t> size) {
  GridPoint result;
  const int taps = GridTapCount(param.mode);
  int64_t stride = 1;
  for (int axis = 0; axis < static_cast<int>(size.size()); ++axis) {
    const int64_t length = size[size.size() - 1 - axis];
    const GridTaps along = GridTapsAt(param, static_cast<double>(point[axis]), length);
    for (int i = taps * result.count - 1; i >= 0;
         --i) {  // descending: entries of the previous axes are overwritten last
      const int before = i % result.count, tap = i / result.count;
      result.offset[i] = result.offset[before] + along.pixel[tap] * stride;
      result.weight[i] = result.weight[before] * along.weight[tap];
    }
    result.count *= taps;
    stride *= length;
  }
  return result;
}

// Inputs, of one floating-point dtype: x [N, C, H, W]; grid [N, oh, ow, 2], points as x and y in
// [-1, 1], or outside. Output: [N, C, oh, ow]. If the mode is not cubic, also x [N, C, D, H, W],
// grid [N, od, oh, ow, 3] and output [N, C, od, oh, ow].
class GridSample final : public OperatorWithParam<GridSampleParam> {
 public:
  ASHLAR_OPERATOR("GridSample", "grid_sample")
  int64_t Computation(const Site& site) const override;
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_GRID_SAMPLE_H_
