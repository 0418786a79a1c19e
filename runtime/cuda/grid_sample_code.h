// GridSample: one thread per point and group of channels. It finds pixels and weights once for all
// its channels, in double precision, so that it chooses the same nearest pixels as the reference.
// Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_GRID_SAMPLE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_GRID_SAMPLE_CODE_H_

#include "opr/base/grid_taps.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

inline constexpr int kGridSampleChannels = 8;  // per thread
inline constexpr int kGridSampleAxes = 3;

struct GridSampleParams {
  Extents extents;  // images, groups of channels, points
  GridSampling sampling;
  Scalar dtype = Scalar::kFloat32;
  int axes = 2;
  int64_t size[kGridSampleAxes] = {1, 1, 1};  // of an image, innermost axis first
  int64_t channels = 0, plane = 0;
  const void *in = nullptr, *grid = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const GridSampleParams& params, void* stream);

template <typename T>
ASHLAR_HD void GridSampleAt(const GridSampleParams& p, int64_t number) {
  const int64_t points = p.extents.sizes[2];
  const int64_t point = TakeCoordinate(p.extents, 2, number);
  const int64_t group = TakeCoordinate(p.extents, 1, number);
  const T* const place = static_cast<const T*>(p.grid) + (number * points + point) * p.axes;
  GridTaps taps[kGridSampleAxes];
  int count[kGridSampleAxes] = {1, 1, 1};
  ASHLAR_UNROLL
  for (int axis = 0; axis < kGridSampleAxes; ++axis) {
    taps[axis].weight[0] = 1;
    if (axis >= p.axes) continue;
    taps[axis] = GridTapsAt(p.sampling, static_cast<double>(ToFloat(place[axis])), p.size[axis]);
    count[axis] = GridTapCount(p.sampling.mode);
  }
  float sums[kGridSampleChannels] = {};
  const int64_t first = number * p.channels + group * kGridSampleChannels;
  const int64_t end = p.channels - group * kGridSampleChannels;  // end of the channels
  const T* const image = static_cast<const T*>(p.in) + first * p.plane;
  for (int z = 0; z < count[2]; ++z) {
    for (int y = 0; y < count[1]; ++y) {
      for (int x = 0; x < count[0]; ++x) {
        const float weight =
            static_cast<float>(taps[0].weight[x] * taps[1].weight[y] * taps[2].weight[z]);
        if (weight == 0) continue;  // a pixel of weight 0 may hold any value, even NaN
        const int64_t offset =
            (taps[2].pixel[z] * p.size[1] + taps[1].pixel[y]) * p.size[0] + taps[0].pixel[x];
        ASHLAR_UNROLL
        for (int c = 0; c < kGridSampleChannels; ++c) {
          if (c < end) sums[c] += weight * ToFloat(image[c * p.plane + offset]);
        }
      }
    }
  }
  ASHLAR_UNROLL
  for (int c = 0; c < kGridSampleChannels; ++c) {
    if (c < end) FromFloat(sums[c], static_cast<T*>(p.out)[(first + c) * points + point]);
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_GRID_SAMPLE_CODE_H_
