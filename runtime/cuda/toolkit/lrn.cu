// Launches of LRN.
#include "runtime/cuda/lrn_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads) LrnKernel(const __grid_constant__ LrnParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) LrnAt<T>(p, i);
}

}  // namespace

LaunchError Launch(const LrnParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(LrnKernel<decltype(type)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
