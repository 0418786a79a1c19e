// Launches of operators on integers of 8 bits.
#include "runtime/cuda/quantized_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {

// Launch(<Name>Params): <Name>At makes an element of `space`.
#define ASHLAR_BYTE_ELEMENTS(Name, space)                                      \
  namespace {                                                                  \
  __global__ void __launch_bounds__(kThreads) Name                             \
      ##Kernel(const __grid_constant__ Name##Params p) {                       \
    ASHLAR_GRID_LOOP(i, p.space.elements) Name##At(p, i);                      \
  }                                                                            \
  }                                                                            \
  LaunchError Launch(const Name##Params& p, void* stream) {                    \
    return Start(Name##Kernel, Blocks(p.space.elements), kThreads, stream, p); \
  }

ASHLAR_BYTE_ELEMENTS(ByteConvert, walk.extents)
ASHLAR_BYTE_ELEMENTS(ByteTable, walk.extents)
ASHLAR_BYTE_ELEMENTS(ByteSum, walk.extents)
ASHLAR_BYTE_ELEMENTS(BytePool, extents)
ASHLAR_BYTE_ELEMENTS(ByteConv, extents)

#undef ASHLAR_BYTE_ELEMENTS

}  // namespace ashlar::cuda
