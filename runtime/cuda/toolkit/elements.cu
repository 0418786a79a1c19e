// Launches of kernels with one element per thread.
#include "runtime/cuda/batch_norm_code.h"
#include "runtime/cuda/conv/direct_code.h"
#include "runtime/cuda/conv/quantized_product_code.h"
#include "runtime/cuda/grid_sample_code.h"
#include "runtime/cuda/integer_elemwise_code.h"
#include "runtime/cuda/lrn_code.h"
#include "runtime/cuda/pooling_backward_code.h"
#include "runtime/cuda/pooling_rows_code.h"
#include "runtime/cuda/quantized_code.h"
#include "runtime/cuda/resize_bytes_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {

// Defines Launch(<Name>Params): <Name>At computes an element, in the real type for the tensors.
#define ASHLAR_REAL_ELEMENTS(Name)                                   \
  namespace {                                                        \
  ASHLAR_ELEMENT_KERNEL(Name##Kernel, Name##Params, Name##At)        \
  }                                                                  \
  LaunchError Launch(const Name##Params& p, void* stream) {          \
    return WithReal(p.dtype, [&](auto type) {                        \
      return StartElements(Name##Kernel<decltype(type)>, p, stream); \
    });                                                              \
  }

ASHLAR_REAL_ELEMENTS(DirectConv)
ASHLAR_REAL_ELEMENTS(GridSample)
ASHLAR_REAL_ELEMENTS(Lrn)
ASHLAR_REAL_ELEMENTS(PoolBackward)
ASHLAR_REAL_ELEMENTS(PoolIndex)

#undef ASHLAR_REAL_ELEMENTS

// The same for a single type; `extents` is a member of the parameters.
#define ASHLAR_ELEMENTS(Name, extents)                                           \
  namespace {                                                                    \
  __global__ void __launch_bounds__(kThreads) Name                               \
      ##Kernel(const __grid_constant__ Name##Params p) {                         \
    ASHLAR_GRID_LOOP(i, p.extents.elements) Name##At(p, i);                      \
  }                                                                              \
  }                                                                              \
  LaunchError Launch(const Name##Params& p, void* stream) {                      \
    return Start(Name##Kernel, Blocks(p.extents.elements), kThreads, stream, p); \
  }

ASHLAR_ELEMENTS(BatchNorm, extents)
ASHLAR_ELEMENTS(ByteConv, extents)
ASHLAR_ELEMENTS(ByteConvert, walk.extents)
ASHLAR_ELEMENTS(BytePool, extents)
ASHLAR_ELEMENTS(ByteRequantize, extents)
ASHLAR_ELEMENTS(ByteFunction, walk.extents)
ASHLAR_ELEMENTS(ByteResize, extents)
ASHLAR_ELEMENTS(ByteSum, walk.extents)
ASHLAR_ELEMENTS(ByteTable, walk.extents)
ASHLAR_ELEMENTS(ByteWindows, extents)
ASHLAR_ELEMENTS(IntegerElemwise, walk.extents)
ASHLAR_ELEMENTS(PoolRows, extents)

#undef ASHLAR_ELEMENTS

}  // namespace ashlar::cuda
