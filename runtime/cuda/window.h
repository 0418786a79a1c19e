// Images and windows over them, as threads number their elements. Compiles for the host and for
// devices.
#ifndef ASHLAR_RUNTIME_CUDA_WINDOW_H_
#define ASHLAR_RUNTIME_CUDA_WINDOW_H_

#include "runtime/cuda/index.h"

namespace ashlar::cuda {

// The strides of an image, in elements.
struct ImageSteps {
  int64_t n = 0, c = 0, h = 0, w = 0;
};

// An axis of a window: output o reads elements o * stride - pad + tap * dilation.
struct WindowSteps {
  int64_t input = 0, window = 1, stride = 1, dilation = 1, pad = 0;
};

// The taps [begin, end) of output o that are inside the input.
struct Taps {
  int64_t begin, end;
};
ASHLAR_HD Taps InsideTaps(const WindowSteps& axis, int64_t o) {
  const int64_t first = o * axis.stride - axis.pad;
  int64_t begin = first < 0 ? (-first + axis.dilation - 1) / axis.dilation : 0;
  int64_t end = axis.input > first ? (axis.input - first + axis.dilation - 1) / axis.dilation : 0;
  if (end > axis.window) end = axis.window;
  if (begin > end) begin = end;
  return {begin, end};
}

// The coordinates of an output of an image operator. `order` is the order of the index space: [N,
// H, W, C] for NHWC, with `pack` channels per thread, or [N, C, H, W] for NCHW.
struct ImagePoint {
  int64_t n, c, h, w;
};
ASHLAR_HD ImagePoint PointOf(const Extents& extents, bool channels_last, int pack, int64_t number) {
  ImagePoint point;
  const int64_t last = TakeCoordinate(extents, 3, number);
  const int64_t third = TakeCoordinate(extents, 2, number);
  const int64_t second = TakeCoordinate(extents, 1, number);
  point.n = number;
  point.c = channels_last ? last * pack : second;
  point.h = channels_last ? second : third;
  point.w = channels_last ? third : last;
  return point;
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_WINDOW_H_
