// Launches of conversions.
#include "runtime/cuda/toolkit/grid.h"
#include "runtime/cuda/type_cvt_code.h"

namespace ashlar::cuda {
namespace {

template <typename Real>
__global__ void __launch_bounds__(kThreads) ConvertKernel(const __grid_constant__ ConvertParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ConvertAt<Real>(p, i);
}

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads)
    ConvertPackKernel(const __grid_constant__ ConvertParams p) {
  ASHLAR_GRID_LOOP(i, p.walk.extents.elements) ConvertPackAt<From, To, 4>(p, i);
}

}  // namespace

LaunchError Launch(const ConvertParams& p, void* stream) {
  auto* kernel = !IsReal(p.from) ? ConvertKernel<WrappingInt>
                 : IsReal(p.to)  ? ConvertKernel<float>
                                 : ConvertKernel<double>;
  if (p.pack > 1 && p.from == Scalar::kFloat32) {
    kernel = p.to == Scalar::kFloat16 ? ConvertPackKernel<float, Half>
                                      : ConvertPackKernel<float, BFloat16>;
  } else if (p.pack > 1) {
    kernel = p.from == Scalar::kFloat16 ? ConvertPackKernel<Half, float>
                                        : ConvertPackKernel<BFloat16, float>;
  }
  return Start(kernel, Blocks(p.walk.extents.elements), kThreads, stream, p);
}

}  // namespace ashlar::cuda
