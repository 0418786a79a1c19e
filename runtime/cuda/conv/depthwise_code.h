// Convolution of every channel with a window of its own, by its definition: one thread some columns
// of a row by a pack of channels. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_DEPTHWISE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_CONV_DEPTHWISE_CODE_H_

#include "runtime/cuda/launch.h"
#include "runtime/cuda/pointwise.h"
#include "runtime/cuda/window.h"

namespace ashlar::cuda {

// Outputs in a row that a thread computes where images are large: it reads the filter once for all.
inline constexpr int kDepthwiseRun = 4;

// activation(convolution + bias + z) with as many outputs as inputs. Sums are Float32. The index
// space is that of the outputs, with runs of `run` columns as one and packs of `pack` channels as
// one.
struct DepthwiseParams {
  Extents extents;
  bool channels_last = false;
  int pack = 1;  // channels that a thread takes: contiguous in images
  int run = 1;   // outputs that it takes, in a row; 1 or kDepthwiseRun
  Scalar dtype = Scalar::kFloat32;
  int64_t channels = 0, out_w = 0;
  WindowSteps h, w;
  ImageSteps in_steps, z_steps, out_steps;
  ScalarCall activation;
  const void *in = nullptr, *bias = nullptr, *z = nullptr;  // bias, z: or null
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

template <typename T, int kPack, int kRun>
ASHLAR_HD void DepthwiseAt(const DepthwiseParams& p, int64_t number) {
  using Elements = Pack<T, kPack>;
  ImagePoint point = PointOf(p.extents, p.channels_last, kPack, number);
  point.w *= kRun;
  const Taps rows = InsideTaps(p.h, point.h);
  const T* const image =
      static_cast<const T*>(p.in) + point.n * p.in_steps.n + point.c * p.in_steps.c;
  const T* const filter = static_cast<const T*>(p.filter) + point.c;
  float sums[kRun][kPack] = {};
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    const T* const row = image + (point.h * p.h.stride - p.h.pad + r * p.h.dilation) * p.in_steps.h;
    for (int64_t s = 0; s < p.w.window; ++s) {
      const Elements tap =
          *reinterpret_cast<const Elements*>(filter + (r * p.w.window + s) * p.channels);
      float factors[kPack];
      ASHLAR_UNROLL
      for (int i = 0; i < kPack; ++i) factors[i] = ToFloat(tap.values[i]);
      ASHLAR_UNROLL
      for (int k = 0; k < kRun; ++k) {
        const int64_t x = (point.w + k) * p.w.stride - p.w.pad + s * p.w.dilation;
        if (x < 0 || x >= p.w.input) continue;
        const Elements pixel = *reinterpret_cast<const Elements*>(row + x * p.in_steps.w);
        ASHLAR_UNROLL
        for (int i = 0; i < kPack; ++i) sums[k][i] += ToFloat(pixel.values[i]) * factors[i];
      }
    }
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
      FromFloat(Activate(p.activation, sums[k][i]), result.values[i]);
    }
    *reinterpret_cast<Elements*>(static_cast<T*>(p.out) + point.n * p.out_steps.n +
                                 point.c * p.out_steps.c + point.h * p.out_steps.h +
                                 w * p.out_steps.w) = result;
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_DEPTHWISE_CODE_H_
