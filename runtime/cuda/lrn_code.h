// Local response normalisation (Krizhevsky, Sutskever and Hinton 2012, "ImageNet Classification
// with Deep Convolutional Neural Networks"). One thread per element sums the squares over its
// window of channels. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_LRN_CODE_H_
#define ASHLAR_RUNTIME_CUDA_LRN_CODE_H_

#include <cmath>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/window.h"

namespace ashlar::cuda {

// The parameters of LRN. Input and output have the same layout.
struct LrnParams {
  Extents extents;
  bool channels_last = false;
  Scalar dtype = Scalar::kFloat32;
  int64_t channels = 0;
  int64_t before = 0, after = 0;  // channels of the window before and after the element's own
  float factor = 0, bias = 1, beta = 0;
  ImageSteps steps;
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const LrnParams& params, void* stream);

// Returns base^beta. For the usual exponent 3/4, two square roots are much cheaper than a power.
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

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_LRN_CODE_H_
