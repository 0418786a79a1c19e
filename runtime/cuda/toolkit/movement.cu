// Launches of the kernels in movement_code.h.
#include "runtime/cuda/movement_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

__global__ void WriteKernel(const __grid_constant__ WriteParams p) {
  if (static_cast<int>(threadIdx.x) < p.count) WriteAt(p, threadIdx.x);
}

}  // namespace

LaunchError Launch(const WriteParams& p, void* stream) {
  return Start(WriteKernel, 1, kMaxRank, stream, p);
}

}  // namespace ashlar::cuda
