// Launches of batch normalisation.
#include "runtime/cuda/batch_norm_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

__global__ void __launch_bounds__(kThreads)
    BatchNormKernel(const __grid_constant__ BatchNormParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) BatchNormAt(p, i);
}

}  // namespace

LaunchError Launch(const BatchNormParams& p, void* stream) {
  return Start(BatchNormKernel, Blocks(p.extents.elements), kThreads, stream, p);
}

}  // namespace ashlar::cuda
