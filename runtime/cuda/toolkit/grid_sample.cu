// Launches of GridSample.
#include "runtime/cuda/grid_sample_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    GridSampleKernel(const __grid_constant__ GridSampleParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) GridSampleAt<T>(p, i);
}

}  // namespace

LaunchError Launch(const GridSampleParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(GridSampleKernel<decltype(type)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
