// The gradient of pooling, and the indices of maxima. One thread per image element gathers the
// gradients of the windows over it, in order, so that no two threads add to one element. It finds
// each window's maximum again, or reads its index. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_POOLING_BACKWARD_CODE_H_
#define ASHLAR_RUNTIME_CUDA_POOLING_BACKWARD_CODE_H_

#include "runtime/cuda/launch.h"
#include "runtime/cuda/pooling_code.h"

namespace ashlar::cuda {

// The image that was pooled, and the pooling's outputs.
struct PoolShape {
  WindowSteps h, w;
  int64_t out_h = 0, out_w = 0;
};

struct PoolBackwardParams : PoolShape {
  Extents extents;  // over the image
  bool channels_last = false;
  Scalar dtype = Scalar::kFloat32;
  PoolKind kind = PoolKind::kMax;
  ImageSteps src_steps, diff_steps, dst_steps, index_steps;
  const void *src = nullptr, *diff = nullptr;
  const uint8_t* index = nullptr;  // null: finds the maxima in src
  void* dst = nullptr;
};
LaunchError Launch(const PoolBackwardParams& params, void* stream);

struct PoolIndexParams : PoolShape {
  Extents extents;  // over the outputs
  Scalar dtype = Scalar::kFloat32;
  ImageSteps src_steps;
  const void* src = nullptr;
  uint8_t* index = nullptr;  // row-major
};
LaunchError Launch(const PoolIndexParams& params, void* stream);

// Returns the number of a window's first maximum (or of the first NaN) among its taps inside the
// image, in row-major order. `plane` points to the image's channel.
template <typename T>
ASHLAR_HD int64_t FirstMaximum(const PoolShape& p, const ImageSteps& steps, const T* plane,
                               int64_t y, int64_t x) {
  const Taps rows = InsideTaps(p.h, y), columns = InsideTaps(p.w, x);
  float largest = 0;
  int64_t first = 0, tap = 0;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const T* const row = plane + (y * p.h.stride - p.h.pad + r * p.h.dilation) * steps.h;
    for (int64_t s = columns.begin; s < columns.end; ++s, ++tap) {
      const float value = ToFloat(row[(x * p.w.stride - p.w.pad + s * p.w.dilation) * steps.w]);
      if (tap > 0 && (value <= largest || largest != largest)) continue;
      largest = value;
      first = tap;
    }
  }
  return first;
}

template <typename T>
ASHLAR_HD void PoolIndexAt(const PoolIndexParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, /*channels_last=*/false, 1, number);
  const T* const plane =
      static_cast<const T*>(p.src) + point.n * p.src_steps.n + point.c * p.src_steps.c;
  p.index[number] = static_cast<uint8_t>(FirstMaximum(p, p.src_steps, plane, point.h, point.w));
}

// The outputs [begin, end) along an axis whose windows may contain element `at`. With dilation,
// some of them miss it.
struct Windows {
  int64_t begin, end;
};
ASHLAR_HD Windows WindowsOver(const WindowSteps& axis, int64_t outputs, int64_t at) {
  const int64_t last = at + axis.pad, first = last - (axis.window - 1) * axis.dilation;
  const int64_t begin = first > 0 ? (first + axis.stride - 1) / axis.stride : 0;
  const int64_t end = last / axis.stride + 1;
  return {begin, end < outputs ? end : outputs};
}

// Returns the tap of output o's window at element `at`, or -1.
ASHLAR_HD int64_t TapAt(const WindowSteps& axis, int64_t o, int64_t at) {
  const int64_t distance = at + axis.pad - o * axis.stride;
  return distance % axis.dilation == 0 ? distance / axis.dilation : -1;
}

template <typename T>
ASHLAR_HD void PoolBackwardAt(const PoolBackwardParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, p.channels_last, 1, number);
  const Windows down = WindowsOver(p.h, p.out_h, point.h);
  const Windows across = WindowsOver(p.w, p.out_w, point.w);
  const T* const plane =
      static_cast<const T*>(p.src) + point.n * p.src_steps.n + point.c * p.src_steps.c;
  const T* const diff =
      static_cast<const T*>(p.diff) + point.n * p.diff_steps.n + point.c * p.diff_steps.c;
  float sum = 0;
  for (int64_t y = down.begin; y < down.end; ++y) {
    const int64_t row = TapAt(p.h, y, point.h);
    if (row < 0) continue;
    const Taps rows = InsideTaps(p.h, y);
    for (int64_t x = across.begin; x < across.end; ++x) {
      const int64_t column = TapAt(p.w, x, point.w);
      if (column < 0) continue;
      const Taps columns = InsideTaps(p.w, x);
      const float given = ToFloat(diff[y * p.diff_steps.h + x * p.diff_steps.w]);
      if (p.kind == PoolKind::kMax) {
        const int64_t own =
            (row - rows.begin) * (columns.end - columns.begin) + column - columns.begin;
        const int64_t first = p.index == nullptr
                                  ? FirstMaximum(p, p.src_steps, plane, y, x)
                                  : p.index[point.n * p.index_steps.n + point.c * p.index_steps.c +
                                            y * p.index_steps.h + x * p.index_steps.w];
        if (own == first) sum += given;
        continue;
      }
      const int64_t taps = p.kind == PoolKind::kAverage
                               ? p.h.window * p.w.window
                               : (rows.end - rows.begin) * (columns.end - columns.begin);
      sum += given / static_cast<float>(taps);
    }
  }
  FromFloat(sum, static_cast<T*>(p.dst)[point.n * p.dst_steps.n + point.c * p.dst_steps.c +
                                        point.h * p.dst_steps.h + point.w * p.dst_steps.w]);
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_POOLING_BACKWARD_CODE_H_
