// Launches of matrix products.
#include "runtime/cuda/matrix_mul_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) MatrixKernel(const __grid_constant__ MatrixParams p) {
  ASHLAR_GRID_LOOP(i, p.batch.extents.elements * p.m * p.n) MatrixAt(p, i);
}

}  // namespace

LaunchError Launch(const MatrixParams& p, void* stream) {
  return Start(MatrixKernel, Blocks(p.batch.extents.elements * p.m * p.n), kThreads, stream, p);
}

}  // namespace ashlar::cuda
