// Launches of convolution without a library.
#include "runtime/cuda/conv/direct_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    DirectConvKernel(const __grid_constant__ DirectConvParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) DirectConvAt<T>(p, i);
}

}  // namespace

LaunchError Launch(const DirectConvParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(DirectConvKernel<decltype(type)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
