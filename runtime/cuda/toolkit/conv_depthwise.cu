// Launches of depthwise convolution.
#include "runtime/cuda/conv/depthwise_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename T, int kPack, int kRun, int kWindow = 0, int kStride = 0>
__global__ void __launch_bounds__(kThreads)
    DepthwiseKernel(const __grid_constant__ DepthwiseParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) DepthwiseAt<T, kPack, kRun, kWindow, kStride>(p, i);
}

using KernelPointer = void (*)(const DepthwiseParams);

// Returns the kernel for packs, that window width, and the strides that networks use.
template <typename T, int kPack, int kWindow>
KernelPointer OfWindow(const DepthwiseParams& p) {
  if (p.run == 1) return DepthwiseKernel<T, kPack, 1, kWindow>;
  if (p.w.dilation != 1) return nullptr;
  if (p.w.stride == 1) return DepthwiseKernel<T, kPack, kDepthwiseRun, kWindow, 1>;
  return p.w.stride == 2 ? DepthwiseKernel<T, kPack, kDepthwiseRun, kWindow, 2> : nullptr;
}

template <typename T>
KernelPointer KernelFor(const DepthwiseParams& p) {
  constexpr int kMost = 16 / sizeof(T);
  KernelPointer special = nullptr;
  if (p.pack > 1 && p.w.window == kDepthwiseWindows[0]) {
    special = OfWindow<T, kMost, kDepthwiseWindows[0]>(p);
  } else if (p.pack > 1 && p.w.window == kDepthwiseWindows[1]) {
    special = OfWindow<T, kMost, kDepthwiseWindows[1]>(p);
  }
  if (special != nullptr) return special;
  if (p.pack > 1) {
    return p.run > 1 ? DepthwiseKernel<T, kMost, kDepthwiseRun> : DepthwiseKernel<T, kMost, 1>;
  }
  return p.run > 1 ? DepthwiseKernel<T, 1, kDepthwiseRun> : DepthwiseKernel<T, 1, 1>;
}

}  // namespace

LaunchError Launch(const DepthwiseParams& p, void* stream) {
  return WithReal(p.dtype, [&](auto type) {
    return Start(KernelFor<decltype(type)>(p), Blocks(p.extents.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
