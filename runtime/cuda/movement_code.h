// Kernels that write values known at planning. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_MOVEMENT_CODE_H_
#define ASHLAR_RUNTIME_CUDA_MOVEMENT_CODE_H_

#include <cstdint>

#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// A few integers known at planning.
struct WriteParams {
  int count = 0;
  int32_t values[kMaxRank] = {};
  int32_t* out = nullptr;
};
LaunchError Launch(const WriteParams& params, void* stream);
ASHLAR_HD void WriteAt(const WriteParams& p, int number) { p.out[number] = p.values[number]; }

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_MOVEMENT_CODE_H_
