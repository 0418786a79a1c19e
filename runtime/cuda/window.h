// Kernels over images: LRN, batch normalisation, and convolution without a library.
// Compiles for the host and for devices: the functions called ...At do the work of one thread.
#ifndef ASHLAR_RUNTIME_CUDA_WINDOW_H_
#define ASHLAR_RUNTIME_CUDA_WINDOW_H_

#include "runtime/cuda/index.h"
#include "runtime/cuda/pointwise.h"

namespace ashlar::cuda {

// Element strides of an image.
struct ImageSteps {
  int64_t n = 0, c = 0, h = 0, w = 0;
};

// One axis of a window: output o reads o * stride - pad + tap * dilation.
struct WindowSteps {
  int64_t input = 0, window = 1, stride = 1, dilation = 1, pad = 0;
};

// The taps [begin, end) of output o that lie in the input.
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

// Where an output of an image operator stands. `order` is that of the index space: in NHWC
// [N, H, W, C], where a thread takes `pack` channels, or in NCHW [N, C, H, W].
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

// Input and output lie alike.
struct LrnParams {
  Extents extents;
  bool channels_last = false;
  Scalar dtype = Scalar::kFloat32;
  int64_t channels = 0;
  int64_t before = 0, after = 0;  // channels of a window around its own
  float factor = 0, bias = 1, beta = 0;
  ImageSteps steps;
  const void* in = nullptr;
  void* out = nullptr;
};

// base^beta. The usual exponent is 3/4, for which two roots cost a fraction of a power.
ASHLAR_HD float LrnPower(float base, float beta) {
  if (beta != 0.75f) return powf(base, beta);
  const float root = sqrtf(base);
  return root * sqrtf(root);
}

template <typename T>
ASHLAR_HD void LrnAt(const LrnParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, p.channels_last, 1, number);
  const int64_t pixel = point.n * p.steps.n + point.h * p.steps.h + point.w * p.steps.w;
  const int64_t first = point.c > p.before ? point.c - p.before : 0;
  const int64_t last = point.c + p.after < p.channels ? point.c + p.after : p.channels - 1;
  const T* const in = static_cast<const T*>(p.in);
  float squares = 0;
  for (int64_t c = first; c <= last; ++c) {
    const float x = ToFloat(in[pixel + c * p.steps.c]);
    squares += x * x;
  }
  const int64_t at = pixel + point.c * p.steps.c;
  FromFloat(ToFloat(in[at]) / LrnPower(p.bias + p.factor * squares, p.beta),
            static_cast<T*>(p.out)[at]);
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias. Float32. Input and output lie alike, in the
// order of the index space: channels are its axis 1 of three.
struct BatchNormParams {
  Extents extents;
  float epsilon = 0;
  const float *in = nullptr, *scale = nullptr, *bias = nullptr, *mean = nullptr,
              *variance = nullptr;
  float* out = nullptr;
};

ASHLAR_HD void BatchNormAt(const BatchNormParams& p, int64_t number) {
  int64_t rest = number;
  TakeCoordinate(p.extents, 2, rest);
  const int64_t c = TakeCoordinate(p.extents, 1, rest);
  const float factor = p.scale[c] / sqrtf(p.variance[c] + p.epsilon);
  p.out[number] = (p.in[number] - p.mean[c]) * factor + p.bias[c];
}

// activation(convolution + bias + z), one output element a thread: for what libraries refuse.
struct DirectConvParams {
  Extents extents;
  bool channels_last = false;
  Scalar dtype = Scalar::kFloat32;
  WindowSteps h, w;
  int64_t in_channels = 0, out_channels = 0;  // of a group
  bool flipped = false;
  ImageSteps in_steps, z_steps, out_steps;
  int64_t filter_k = 0, filter_c = 0, filter_h = 0, filter_w = 0;  // element strides
  bool activated = false;
  Function activation = Function::kRelu;
  float lo = 0, hi = 0;
  const void *in = nullptr, *filter = nullptr, *bias = nullptr, *z = nullptr;  // bias, z: or null
  void* out = nullptr;
};

template <typename T>
ASHLAR_HD void DirectConvAt(const DirectConvParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, p.channels_last, 1, number);
  const int64_t group = point.c / p.out_channels;
  const Taps rows = InsideTaps(p.h, point.h), columns = InsideTaps(p.w, point.w);
  const T* const image =
      static_cast<const T*>(p.in) + point.n * p.in_steps.n + group * p.in_channels * p.in_steps.c;
  const T* const filter = static_cast<const T*>(p.filter) + point.c * p.filter_k;
  float sum = 0;
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const int64_t y = point.h * p.h.stride - p.h.pad + r * p.h.dilation;
    const int64_t filter_row = p.flipped ? p.h.window - 1 - r : r;
    for (int64_t s = columns.begin; s < columns.end; ++s) {
      const int64_t x = point.w * p.w.stride - p.w.pad + s * p.w.dilation;
      const int64_t filter_column = p.flipped ? p.w.window - 1 - s : s;
      const T* const pixel = image + y * p.in_steps.h + x * p.in_steps.w;
      const T* const tap = filter + filter_row * p.filter_h + filter_column * p.filter_w;
      for (int64_t c = 0; c < p.in_channels; ++c) {
        sum += ToFloat(pixel[c * p.in_steps.c]) * ToFloat(tap[c * p.filter_c]);
      }
    }
  }
  if (p.bias != nullptr) sum += ToFloat(static_cast<const T*>(p.bias)[point.c]);
  if (p.z != nullptr) {
    sum += ToFloat(static_cast<const T*>(p.z)[point.n * p.z_steps.n + point.c * p.z_steps.c +
                                              point.h * p.z_steps.h + point.w * p.z_steps.w]);
  }
  if (p.activated) sum = Apply<float>(p.activation, sum, 0.0f, 0.0f, p.lo, p.hi);
  FromFloat(sum, static_cast<T*>(p.out)[point.n * p.out_steps.n + point.c * p.out_steps.c +
                                        point.h * p.out_steps.h + point.w * p.out_steps.w]);
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_WINDOW_H_
