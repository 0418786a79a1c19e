// Launches of copies.
#include "runtime/cuda/copy_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename Word>
__global__ void __launch_bounds__(kThreads) CopyKernel(const __grid_constant__ CopyParams p) {
  ASHLAR_GRID_LOOP(i, p.most_elements) CopyAt<Word>(p, blockIdx.y, i);
}

}  // namespace

LaunchError Launch(const CopyParams& p, void* stream) {
  auto* kernel = CopyKernel<uint4>;
  if (p.element == 1) kernel = CopyKernel<uint8_t>;
  if (p.element == 2) kernel = CopyKernel<uint16_t>;
  if (p.element == 4) kernel = CopyKernel<uint32_t>;
  if (p.element == 8) kernel = CopyKernel<uint64_t>;
  const dim3 grid(std::min(Blocks(p.most_elements), 1u << 20), static_cast<unsigned>(p.parts));
  return Start(kernel, grid, kThreads, stream, p);
}

LaunchError CopyBytes(void* to, const void* from, int64_t bytes, void* stream) {
  const cudaError_t error =
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice,
                      static_cast<cudaStream_t>(stream));
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace ashlar::cuda
