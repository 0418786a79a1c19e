// Batch normalisation (Ioffe and Szegedy 2015, "Batch Normalization: Accelerating Deep Network
// Training by Reducing Internal Covariate Shift"), one thread per element. Compiles for the host
// and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_BATCH_NORM_CODE_H_
#define ASHLAR_RUNTIME_CUDA_BATCH_NORM_CODE_H_

#include <cmath>

#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// The parameters of (x - mean) / sqrt(variance + epsilon) * scale + bias in Float32. Input and
// output have the same layout. The index space has three axes in the order of memory; axis 1 is
// channels.
struct BatchNormParams {
  Extents extents;
  float epsilon = 0;
  const float *in = nullptr, *scale = nullptr, *bias = nullptr, *mean = nullptr,
              *variance = nullptr;
  float* out = nullptr;
};
LaunchError Launch(const BatchNormParams& params, void* stream);

ASHLAR_HD void BatchNormAt(const BatchNormParams& p, int64_t number) {
  int64_t rest = number;
  TakeCoordinate(p.extents, 2, rest);
  const int64_t c = TakeCoordinate(p.extents, 1, rest);
  const float factor = p.scale[c] / sqrtf(p.variance[c] + p.epsilon);
  p.out[number] = (p.in[number] - p.mean[c]) * factor + p.bias[c];
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_BATCH_NORM_CODE_H_
