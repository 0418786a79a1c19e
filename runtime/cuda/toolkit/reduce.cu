// Launches of reductions.
#include "runtime/cuda/reduce_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename Real>
__global__ void __launch_bounds__(kThreads) ReduceKernel(const __grid_constant__ ReduceParams p) {
  ASHLAR_GRID_LOOP(i, p.kept.extents.elements) ReduceAt<Real>(p, i, Alone());
}

template <typename Real>
__global__ void __launch_bounds__(kThreads)
    ReduceTeamKernel(const __grid_constant__ ReduceParams p) {
  __shared__ Real shared[kThreads / 32];
  for (int64_t i = blockIdx.x; i < p.kept.extents.elements; i += gridDim.x) {
    ReduceAt<Real>(p, i, Block<Real>{shared});
  }
}

}  // namespace

LaunchError Launch(const ReduceParams& p, void* stream) {
  const bool real = IsReal(p.from) && IsReal(p.to);
  const int64_t results = p.kept.extents.elements;
  if (p.by_team) {
    return Start(real ? ReduceTeamKernel<float> : ReduceTeamKernel<WrappingInt>,
                 static_cast<unsigned>(std::min(results, kMaxBlocks)), kThreads, stream, p);
  }
  return Start(real ? ReduceKernel<float> : ReduceKernel<WrappingInt>, Blocks(results), kThreads,
               stream, p);
}

}  // namespace ashlar::cuda
