// Helpers for launches of our own kernels: grids, loops over them, and the threads of a block as a
// team. For the device compiler only.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_GRID_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_GRID_H_

#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

inline constexpr int kThreads = 256;
inline constexpr int64_t kMaxBlocks = int64_t{1} << 30;

template <typename... Taken, typename... Given>
LaunchError Start(void (*kernel)(Taken...), dim3 blocks, dim3 threads, void* stream,
                  const Given&... given) {
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, given...);
  if (error == cudaSuccess) return nullptr;
  static_cast<void>(cudaGetLastError());  // otherwise the next call would report it again
  return cudaGetErrorString(error);
}

// Returns the number of blocks for so many threads in a grid-stride loop.
inline unsigned Blocks(int64_t threads) {
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMaxBlocks));
}

template <typename Index>
__device__ Index FirstIndex() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}

#define ASHLAR_GRID_LOOP(i, count)                                                         \
  for (int64_t i = FirstIndex<int64_t>(), grid_step = int64_t{1} * gridDim.x * blockDim.x; \
       i < (count); i += grid_step)

// Defines a kernel whose parameters state their number of elements; a function computes each
// element independently.
#define ASHLAR_ELEMENT_KERNEL(Kernel, Params, At)                                        \
  template <typename T>                                                                  \
  __global__ void __launch_bounds__(kThreads) Kernel(const __grid_constant__ Params p) { \
    ASHLAR_GRID_LOOP(i, p.extents.elements) At<T>(p, i);                                 \
  }

template <typename Params>
LaunchError StartElements(void (*kernel)(Params), const Params& p, void* stream) {
  return Start(kernel, Blocks(p.extents.elements), kThreads, stream, p);
}

template <typename Number>
__device__ Number Exchanged(Number value, int distance) {
  return __shfl_xor_sync(0xffffffffu, value, distance);
}
__device__ inline WrappingInt Exchanged(WrappingInt value, int distance) {
  return static_cast<int64_t>(
      __shfl_xor_sync(0xffffffffu, static_cast<long long>(value.value), distance));
}

// The threads of a block as a team. `shared` has one element per warp. All threads must call All.
template <typename Real>
struct Block {
  Real* shared;
  __device__ int rank() const { return threadIdx.x; }
  __device__ int size() const { return blockDim.x; }
  template <typename Combine>
  __device__ Real All(Real value, Combine combine) const {
    for (int distance = 16; distance > 0; distance /= 2) {
      value = combine(value, Exchanged(value, distance));
    }
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    __syncthreads();  // the values of the previous call have been read
    if (threadIdx.x % 32 == 0) shared[warp] = value;
    __syncthreads();
    value = shared[0];
    for (int w = 1; w < warps; ++w) value = combine(value, shared[w]);
    return value;
  }
};

inline bool IsReal(Scalar dtype) {
  return dtype == Scalar::kFloat32 || dtype == Scalar::kFloat16 || dtype == Scalar::kBFloat16;
}

// Calls `call` with a value of the type that corresponds to the dtype, and returns its result.
template <typename Call>
LaunchError WithReal(Scalar dtype, const Call& call) {
  if (dtype == Scalar::kFloat16) return call(Half());
  if (dtype == Scalar::kBFloat16) return call(BFloat16());
  return call(float());
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_GRID_H_
