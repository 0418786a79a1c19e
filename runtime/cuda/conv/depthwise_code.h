// Depthwise convolution (one window per channel) by its definition. Each thread computes some
// columns of a row for a pack of channels. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_DEPTHWISE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_CONV_DEPTHWISE_CODE_H_

#include "runtime/cuda/conv/source_bounds.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/pointwise_code.h"
#include "runtime/cuda/window.h"

namespace ashlar::cuda {

// Adjacent outputs per thread if images are large: the thread reads the filter once for all of
// them.
inline constexpr int kDepthwiseRun = 4;
// Window widths that have kernels of their own, if threads take packs.
inline constexpr int kDepthwiseWindows[] = {3, 5};

// The parameters of activation(convolution + bias + z), with as many outputs as inputs and Float32
// sums. The index space is the outputs', but `run` columns and `pack` channels count as one.
struct DepthwiseParams {
  Extents extents;
  bool channels_last = false;
  int pack = 1;  // adjacent channels per thread
  int run = 1;   // outputs in a row per thread: 1 or kDepthwiseRun
  Scalar dtype = Scalar::kFloat32;
  int64_t channels = 0, out_w = 0;
  WindowSteps h, w;
  ImageSteps in_steps, z_steps, out_steps;
  SourceBounds source;
  float low = -INFINITY, high = INFINITY;  // the activation as bounds
  bool called = false;                     // the activation is another function
  ScalarCall activation;
  const void *in = nullptr, *bias = nullptr, *z = nullptr;  // bias, z: may be null
  const void* filter = nullptr;                             // [R, S, C]
  void* out = nullptr;
};
LaunchError Launch(const DepthwiseParams& params, void* stream);

template <typename T, int kPack>
ASHLAR_HD void AddTo(float (&sums)[kPack], const T* data) {
  const Pack<T, kPack> elements = *reinterpret_cast<const Pack<T, kPack>*>(data);
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) sums[i] += ToFloat(elements.values[i]);
}

// Activations after depthwise convolutions are usually bounds. Others are called, once per element,
// rather than inlined in every variant of the kernel.
ASHLAR_HD_CALL float ActivateByCall(const ScalarCall& call, float x) { return Activate(call, x); }
ASHLAR_HD float DepthwiseActivate(const DepthwiseParams& p, float x) {
  if (p.called) return ActivateByCall(p.activation, x);
  x = x < p.low ? p.low : x;  // propagates NaN
  return x > p.high ? p.high : x;
}

// Adds one tap to kRun outputs.
template <typename T, int kPack, int kRun, int kStep>
ASHLAR_HD void DepthwiseTap(const Pack<T, kPack>& tap, const Pack<T, kPack>* pixels,
                            const bool* inside, float (&sums)[kRun][kPack]) {
  float factors[kPack];
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) factors[i] = ToFloat(tap.values[i]);
  ASHLAR_UNROLL
  for (int k = 0; k < kRun; ++k) {
    if (!inside[k * kStep]) continue;
    ASHLAR_UNROLL
    for (int i = 0; i < kPack; ++i) sums[k][i] += ToFloat(pixels[k * kStep].values[i]) * factors[i];
  }
}

// Adds row `r` of the windows of a thread's outputs; `row` and `filter` are the row's data. kWindow
// 0 takes any width. Otherwise taps are unrolled, and with kStride > 0 (the step between outputs)
// each pixel is loaded once for all outputs that use it.
template <typename T, int kPack, int kRun, int kWindow, int kStride>
ASHLAR_HD void DepthwiseRow(const DepthwiseParams& p, const T* row, const T* filter, int64_t w,
                            float (&sums)[kRun][kPack]) {
  using Elements = Pack<T, kPack>;
  const int64_t first = w * p.w.stride - p.w.pad;
  const auto load = [&](int64_t x, Elements& pixel) {
    const bool inside = x >= 0 && x < p.w.input;
    if (inside) pixel = *reinterpret_cast<const Elements*>(row + x * p.in_steps.w);
    if (p.source.any && inside) {
      ASHLAR_UNROLL
      for (int i = 0; i < kPack; ++i) {
        const float x = ToFloat(pixel.values[i]);
        FromFloat(formulas::Clamp(x, p.source.low, p.source.high), pixel.values[i]);
      }
    }
    return inside;
  };
  const auto tap_at = [&](int64_t s) {
    return *reinterpret_cast<const Elements*>(filter + s * p.channels);
  };
  if constexpr (kStride > 0) {
    constexpr int kPixels = (kRun - 1) * kStride + kWindow;
    Elements pixels[kPixels] = {};
    bool inside[kPixels];
    ASHLAR_UNROLL
    for (int k = 0; k < kPixels; ++k) inside[k] = load(first + k, pixels[k]);
    ASHLAR_UNROLL
    for (int s = 0; s < kWindow; ++s) {
      DepthwiseTap<T, kPack, kRun, kStride>(tap_at(s), pixels + s, inside + s, sums);
    }
  } else {
    const int64_t window = kWindow > 0 ? kWindow : p.w.window;
    for (int64_t s = 0; s < window; ++s) {
      Elements pixels[kRun] = {};
      bool inside[kRun];
      ASHLAR_UNROLL
      for (int k = 0; k < kRun; ++k) {
        inside[k] = load(first + k * p.w.stride + s * p.w.dilation, pixels[k]);
      }
      DepthwiseTap<T, kPack, kRun, 1>(tap_at(s), pixels, inside, sums);
    }
  }
}

template <typename T, int kPack, int kRun, int kWindow, int kStride>
ASHLAR_HD void DepthwiseAt(const DepthwiseParams& p, int64_t number) {
  using Elements = Pack<T, kPack>;
  ImagePoint point = PointOf(p.extents, p.channels_last, kPack, number);
  point.w *= kRun;
  const Taps rows = InsideTaps(p.h, point.h);
  const T* const image =
      static_cast<const T*>(p.in) + point.n * p.in_steps.n + point.c * p.in_steps.c;
  const T* const filter = static_cast<const T*>(p.filter) + point.c;
  const int64_t columns = kWindow > 0 ? kWindow : p.w.window;
  float sums[kRun][kPack] = {};
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const int64_t y = point.h * p.h.stride - p.h.pad + r * p.h.dilation;
    DepthwiseRow<T, kPack, kRun, kWindow, kStride>(
        p, image + y * p.in_steps.h, filter + r * columns * p.channels, point.w, sums);
  }
  ASHLAR_UNROLL
  for (int k = 0; k < kRun; ++k) {
    const int64_t w = point.w + k;
    if (w >= p.out_w) return;
    if (p.bias != nullptr) AddTo<T>(sums[k], static_cast<const T*>(p.bias) + point.c);
    if (p.z != nullptr) {
      AddTo<T>(sums[k], static_cast<const T*>(p.z) + point.n * p.z_steps.n + point.c * p.z_steps.c +
                            point.h * p.z_steps.h + w * p.z_steps.w);
    }
    Elements result;
    ASHLAR_UNROLL
    for (int i = 0; i < kPack; ++i) {
      FromFloat(DepthwiseActivate(p, sums[k][i]), result.values[i]);
    }
    *reinterpret_cast<Elements*>(static_cast<T*>(p.out) + point.n * p.out_steps.n +
                                 point.c * p.out_steps.c + point.h * p.out_steps.h +
                                 w * p.out_steps.w) = result;
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_DEPTHWISE_CODE_H_
