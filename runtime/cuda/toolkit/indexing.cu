// Launches of gathering and scattering.
#include "runtime/cuda/indexing_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {
namespace {

ASHLAR_ELEMENT_KERNEL(GatherKernel, GatherParams, GatherAt)

ASHLAR_ELEMENT_KERNEL(ScatterKernel, ScatterParams, ScatterAt)

// Calls `call` with a value of a type of so many bytes, and returns its result.
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
    return StartElements(GatherKernel<decltype(element)>, p, stream);
  });
}

LaunchError Launch(const ScatterParams& p, void* stream) {
  return WithBytes(p.bytes, [&](auto element) {
    return StartElements(ScatterKernel<decltype(element)>, p, stream);
  });
}

}  // namespace ashlar::cuda
