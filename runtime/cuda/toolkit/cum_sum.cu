// Launches of CumSum.
#include "runtime/cuda/cum_sum_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename Number>
__global__ void __launch_bounds__(kThreads) CumSumKernel(const __grid_constant__ CumSumParams p) {
  ASHLAR_GRID_LOOP(line, p.extents.elements) CumSumAt<Number>(p, line);
}

template <typename Number>
__global__ void __launch_bounds__(kThreads)
    CumSumTeamKernel(const __grid_constant__ CumSumParams p) {
  __shared__ Number sums[kThreads];
  const int64_t thread = threadIdx.x;
  for (int64_t line = blockIdx.x; line < p.extents.elements; line += gridDim.x) {
    __syncthreads();  // the previous line's sums have been read
    const int64_t begin = RangeBegin(p, thread, kThreads);
    const int64_t end = RangeBegin(p, thread + 1, kThreads);
    sums[thread] = SumRange<false>(p, line, begin, end, Number(0));
    __syncthreads();
    Number before = 0;
    for (int64_t i = 0; i < thread; ++i) before += sums[i];
    SumRange<true>(p, line, begin, end, before);
  }
}

}  // namespace

LaunchError Launch(const CumSumParams& p, void* stream) {
  const bool real = IsReal(p.dtype);
  if (!p.teams) {
    return Start(real ? CumSumKernel<double> : CumSumKernel<WrappingInt>,
                 Blocks(p.extents.elements), kThreads, stream, p);
  }
  const auto blocks = static_cast<unsigned>(std::min(p.extents.elements, kMaxBlocks));
  return Start(real ? CumSumTeamKernel<double> : CumSumTeamKernel<WrappingInt>, blocks, kThreads,
               stream, p);
}

}  // namespace ashlar::cuda
