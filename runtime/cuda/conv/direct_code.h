// Convolution by its definition, without a library: one thread per output element. Compiles for the
// host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_DIRECT_CODE_H_
#define ASHLAR_RUNTIME_CUDA_CONV_DIRECT_CODE_H_

#include "runtime/cuda/conv/source_bounds.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/pointwise_code.h"
#include "runtime/cuda/window.h"

namespace ashlar::cuda {

// The parameters of activation(convolution + bias + z), for problems that libraries refuse.
struct DirectConvParams {
  Extents extents;
  bool channels_last = false;
  Scalar dtype = Scalar::kFloat32;
  WindowSteps h, w;
  int64_t in_channels = 0, out_channels = 0;  // in a group
  bool flipped = false;
  ImageSteps in_steps, z_steps, out_steps;
  int64_t filter_k = 0, filter_c = 0, filter_h = 0, filter_w = 0;  // strides in elements
  SourceBounds source;
  ScalarCall activation;
  const void *in = nullptr, *filter = nullptr, *bias = nullptr, *z = nullptr;  // bias, z: or null
  void* out = nullptr;
};
LaunchError Launch(const DirectConvParams& params, void* stream);

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
        const float x = ToFloat(pixel[c * p.in_steps.c]);
        sum += (p.source.any ? formulas::Clamp(x, p.source.low, p.source.high) : x) *
               ToFloat(tap[c * p.filter_c]);
      }
    }
  }
  if (p.bias != nullptr) sum += ToFloat(static_cast<const T*>(p.bias)[point.c]);
  if (p.z != nullptr) {
    sum += ToFloat(static_cast<const T*>(p.z)[point.n * p.z_steps.n + point.c * p.z_steps.c +
                                              point.h * p.z_steps.h + point.w * p.z_steps.w]);
  }
  sum = Activate(p.activation, sum);
  FromFloat(sum, static_cast<T*>(p.out)[point.n * p.out_steps.n + point.c * p.out_steps.c +
                                        point.h * p.out_steps.h + point.w * p.out_steps.w]);
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_DIRECT_CODE_H_
