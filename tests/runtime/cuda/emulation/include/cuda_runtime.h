// Replaces the toolkit's header when device code is compiled for the host. Has the parts of the
// language and of the runtime's launches that the .cu files use.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_INCLUDE_CUDA_RUNTIME_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_INCLUDE_CUDA_RUNTIME_H_

#include <cstring>
#include <type_traits>

#include "tests/runtime/cuda/emulation/grid.h"

#define __global__
#define __device__
#define __grid_constant__
#define __launch_bounds__(threads)
// Blocks run one after another, each on one thread of the host.
#define __shared__ static thread_local

// The indices of the running thread.
template <auto kPart, auto kAxis>
struct ThreadCoordinate {
  operator unsigned() const { return ashlar::testing::CurrentThread().*kPart.*kAxis; }
};
template <auto kPart>
struct ThreadCoordinates {
  ThreadCoordinate<kPart, &ashlar::testing::Index3::x> x;
  ThreadCoordinate<kPart, &ashlar::testing::Index3::y> y;
  ThreadCoordinate<kPart, &ashlar::testing::Index3::z> z;
};
inline constexpr ThreadCoordinates<& ashlar::testing::ThreadIndex::block> blockIdx = {};
inline constexpr ThreadCoordinates<& ashlar::testing::ThreadIndex::thread> threadIdx = {};
inline constexpr ThreadCoordinates<& ashlar::testing::ThreadIndex::grid_size> gridDim = {};
inline constexpr ThreadCoordinates<& ashlar::testing::ThreadIndex::block_size> blockDim = {};

inline void __syncthreads() { ::ashlar::testing::WaitForBlock(); }

template <typename T>
T __shfl_xor_sync(unsigned /* all lanes */, T value, int lanes) {
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = ::ashlar::testing::ExchangeInWarp(bits, static_cast<unsigned>(lanes));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess, cudaErrorInvalidConfiguration };
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice };

inline const char* cudaGetErrorString(cudaError_t) { return "invalid configuration argument"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  cudaStream_t stream;
};

template <typename... Taken, typename... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Taken...),
                               const Given&... given) {
  const ashlar::testing::Index3 grid = {config->gridDim.x, config->gridDim.y, config->gridDim.z};
  const ashlar::testing::Index3 block = {config->blockDim.x, config->blockDim.y,
                                         config->blockDim.z};
  if (!ashlar::testing::CanStart(grid, block, (sizeof(Taken) + ...))) {
    return cudaErrorInvalidConfiguration;
  }
  ashlar::testing::EnqueueOn(
      config->stream, [=] { ashlar::testing::RunGrid(grid, block, [&] { kernel(given...); }); });
  return cudaSuccess;
}

inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t stream) {
  ashlar::testing::EnqueueOn(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_INCLUDE_CUDA_RUNTIME_H_
