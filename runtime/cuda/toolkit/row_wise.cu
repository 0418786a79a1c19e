// Launches of operators along rows.
#include "runtime/cuda/row_wise_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename From>
__global__ void __launch_bounds__(kThreads) SoftmaxKernel(const __grid_constant__ SoftmaxParams p) {
  __shared__ float shared[kThreads / 32];
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    SoftmaxAt<From>(p, row, Block<float>{shared});
  }
}

template <typename From>
__global__ void __launch_bounds__(kThreads)
    SoftmaxColumnKernel(const __grid_constant__ SoftmaxParams p) {
  ASHLAR_GRID_LOOP(row, p.rows) SoftmaxAt<From>(p, row, Alone());
}

}  // namespace

LaunchError Launch(const SoftmaxParams& p, void* stream) {
  return WithReal(p.from, [&](auto type) {
    using From = decltype(type);
    if (p.step > 1) {
      return Start(SoftmaxColumnKernel<From>, Blocks(p.rows), kThreads, stream, p);
    }
    return Start(SoftmaxKernel<From>, static_cast<unsigned>(std::min(p.rows, kMaxBlocks)), kThreads,
                 stream, p);
  });
}

}  // namespace ashlar::cuda
