// Launches of updates.
#include "runtime/cuda/toolkit/grid.h"
#include "runtime/cuda/update_code.h"

namespace ashlar::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) SgdKernel(const __grid_constant__ SgdParams p) {
  ASHLAR_GRID_LOOP(i, p.elements) SgdAt(p, i);
}

// Computes the powers once per block.
__global__ void __launch_bounds__(kThreads) AdamKernel(const __grid_constant__ AdamParams p) {
  __shared__ AdamCommon common;
  if (threadIdx.x == 0) common = AdamCommonOf(p);
  __syncthreads();
  ASHLAR_GRID_LOOP(i, p.elements) AdamAt(p, common, i);
}

__global__ void __launch_bounds__(kThreads) AddKernel(const __grid_constant__ AddParams p) {
  ASHLAR_GRID_LOOP(i, p.elements) AddUpdateAt(p, i);
}

}  // namespace

LaunchError Launch(const SgdParams& p, void* stream) {
  return Start(SgdKernel, Blocks(p.elements), kThreads, stream, p);
}

LaunchError Launch(const AdamParams& p, void* stream) {
  return Start(AdamKernel, Blocks(p.elements), kThreads, stream, p);
}

LaunchError Launch(const AddParams& p, void* stream) {
  return Start(AddKernel, Blocks(p.elements), kThreads, stream, p);
}

}  // namespace ashlar::cuda
