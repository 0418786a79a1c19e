// Launches of depthwise convolution.
#include "runtime/cuda/conv/depthwise_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T, int kPack, int kRun>
__global__ void __launch_bounds__(kThreads)
    DepthwiseKernel(const __grid_constant__ DepthwiseParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) DepthwiseAt<T, kPack, kRun>(p, i);
}

}  // namespace

LaunchError Launch(const DepthwiseParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    using T = decltype(type);
    constexpr int kMost = 16 / sizeof(T);
    auto* kernel = DepthwiseKernel<T, 1, 1>;
    if (p.pack > 1) {
      kernel = p.run > 1 ? DepthwiseKernel<T, kMost, kDepthwiseRun> : DepthwiseKernel<T, kMost, 1>;
    } else if (p.run > 1) {
      kernel = DepthwiseKernel<T, 1, kDepthwiseRun>;
    }
    return Start(kernel, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
