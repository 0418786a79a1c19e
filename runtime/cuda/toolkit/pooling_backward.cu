// Launches of the gradient of pooling.
#include "runtime/cuda/pooling_backward_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    PoolBackwardKernel(const __grid_constant__ PoolBackwardParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) PoolBackwardAt<T>(p, i);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    PoolIndexKernel(const __grid_constant__ PoolIndexParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) PoolIndexAt<T>(p, i);
}

}  // namespace

LaunchError Launch(const PoolBackwardParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(PoolBackwardKernel<decltype(type)>, Blocks(p.extents.elements), kThreads, stream,
                 p);
  });
}

LaunchError Launch(const PoolIndexParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(PoolIndexKernel<decltype(type)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
