// Dropout: each element depends only on its own number. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_DROPOUT_CODE_H_
#define ASHLAR_RUNTIME_CUDA_DROPOUT_CODE_H_

#include "opr/base/dropout_mask.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

struct DropoutParams {
  int64_t elements = 0;
  Scalar dtype = Scalar::kFloat32;
  Scalar step_dtype = Scalar::kInt64;
  int64_t seed = 0;
  uint64_t threshold = 0;
  float scale = 1;  // for elements that are kept
  const void *in = nullptr, *step = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const DropoutParams& params, void* stream);

ASHLAR_HD uint64_t DropoutKeyOf(const DropoutParams& p) {
  const int64_t step = p.step_dtype == Scalar::kInt64 ? *static_cast<const int64_t*>(p.step)
                                                      : *static_cast<const int32_t*>(p.step);
  return DropoutKey(p.seed, step);
}

template <typename T>
ASHLAR_HD void DropoutAt(const DropoutParams& p, uint64_t key, int64_t number) {
  const float x = ToFloat(static_cast<const T*>(p.in)[number]);
  const float y = DropoutKeeps(key, number, p.threshold) ? x * p.scale : 0;
  FromFloat(y, static_cast<T*>(p.out)[number]);
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_DROPOUT_CODE_H_
