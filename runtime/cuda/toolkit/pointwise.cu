// Launches of chains of scalar functions.
#include "runtime/cuda/pointwise_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename Real>
__global__ void __launch_bounds__(kThreads) ChainKernel(const __grid_constant__ ChainParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ChainAt<Real>(p, i);
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kThreads) ChainPackKernel(const __grid_constant__ ChainParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ChainPackAt<T, kPack>(p, i);
}

}  // namespace

LaunchError Launch(const ChainParams& p, void* stream) {
  const unsigned blocks = Blocks(p.walk.extents.elements);
  if (p.pack > 1) {
    return WithReal(p.dtype, [&](auto type) {
      using T = decltype(type);
      return Start(ChainPackKernel<T, 16 / sizeof(T)>, blocks, kThreads, stream, p);
    });
  }
  return Start(IsReal(p.dtype) ? ChainKernel<float> : ChainKernel<WrappingInt>, blocks, kThreads,
               stream, p);
}

}  // namespace ashlar::cuda
