// Launches of pooling.
#include "runtime/cuda/pooling_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T, int kPack>
__global__ void __launch_bounds__(kThreads) PoolKernel(const __grid_constant__ PoolParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) PoolAt<T, kPack>(p, i);
}

template <typename T, int kPack>
__global__ void __launch_bounds__(kPoolThreads)
    PoolTeamKernel(const __grid_constant__ PoolParams p) {
  __shared__ float parts[kPack][kPoolThreads];
  const int thread = threadIdx.x;
  const PoolMember member = PoolMemberOf(p, thread);
  for (int64_t first = int64_t{1} * blockIdx.x * member.outputs; first < p.extents.elements;
       first += int64_t{1} * gridDim.x * member.outputs) {
    const bool inside = first + member.output < p.extents.elements;
    PoolWindow<T> window;
    float value[kPack] = {};
    if (inside) {
      window = PoolWindowOf<T, kPack>(p, first + member.output);
      PoolTaps<T, kPack>(p, window, member.rank, member.members, value);
    }
    for (int k = 0; k < kPack; ++k) parts[k][thread] = value[k];
    for (int distance = member.members / 2; distance > 0; distance /= 2) {
      __syncthreads();
      PoolJoin(p, member, thread, distance, parts);
    }
    if (inside && member.rank == 0) {
      for (int k = 0; k < kPack; ++k) value[k] = parts[k][thread];
      PoolStore<T, kPack>(p, window, value);
    }
    __syncthreads();
  }
}

template <typename T, int kPack>
LaunchError StartPool(const PoolParams& p, void* stream) {
  if (!p.by_team) {
    return Start(PoolKernel<T, kPack>, Blocks(p.extents.elements), kThreads, stream, p);
  }
  const int outputs = PoolMemberOf(p, 0).outputs;
  const int64_t blocks = (p.extents.elements + outputs - 1) / outputs;
  return Start(PoolTeamKernel<T, kPack>, static_cast<unsigned>(std::min(blocks, kMaxBlocks)),
               kPoolThreads, stream, p);
}

}  // namespace

LaunchError Launch(const PoolParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    using T = decltype(type);
    if (p.pack == static_cast<int>(16 / sizeof(T))) return StartPool<T, 16 / sizeof(T)>(p, stream);
    if (p.pack == static_cast<int>(4 / sizeof(T))) return StartPool<T, 4 / sizeof(T)>(p, stream);
    return StartPool<T, 1>(p, stream);
  });
}

}  // namespace ashlar::cuda
