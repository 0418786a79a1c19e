// Launches of gathering and scattering.
#include "runtime/cuda/indexing_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

template <typename Element>
__global__ void __launch_bounds__(kThreads) GatherKernel(const __grid_constant__ GatherParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) GatherAt<Element>(p, i);
}

template <typename Element>
__global__ void __launch_bounds__(kThreads) ScatterKernel(const __grid_constant__ ScatterParams p) {
  ASHLAR_GRID_LOOP(i, p.extents.elements) ScatterAt<Element>(p, i);
}

// The call's result for a value of a type of so many bytes.
template <typename Call>
LaunchError WithBytes(int bytes, const Call& call) {
  switch (bytes) {
    case 1:
      return call(uint8_t());
    case 2:
      return call(uint16_t());
    case 4:
      return call(uint32_t());
    case 8:
      return call(uint64_t());
    default:
      return call(Pack<uint32_t, 4>());
  }
}

}  // namespace

LaunchError Launch(const GatherParams& p, void* stream) {
  return WithBytes(p.bytes, [&](auto element) {
    return Start(GatherKernel<decltype(element)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

LaunchError Launch(const ScatterParams& p, void* stream) {
  return WithBytes(p.bytes, [&](auto element) {
    return Start(ScatterKernel<decltype(element)>, Blocks(p.extents.elements), kThreads, stream, p);
  });
}

}  // namespace ashlar::cuda
