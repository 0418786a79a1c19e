// Launches of Dropout.
#include "runtime/cuda/dropout_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads) DropoutKernel(const __grid_constant__ DropoutParams p) {
  const uint64_t key = DropoutKeyOf(p);
  ASHLAR_GRID_LOOP(i, p.elements) DropoutAt<T>(p, key, i);
}

}  // namespace

LaunchError Launch(const DropoutParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(DropoutKernel<decltype(type)>, Blocks(p.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
