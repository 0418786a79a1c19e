// Launches of kernels whose threads make an element each, of whichever real type the tensors have.
#include "runtime/cuda/conv/direct_code.h"
#include "runtime/cuda/grid_sample_code.h"
#include "runtime/cuda/lrn_code.h"
#include "runtime/cuda/pooling_backward_code.h"
#include "runtime/cuda/toolkit/grid.h"

namespace ashlar::cuda {

// Launch(<Name>Params): <Name>At makes an element.
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

}  // namespace ashlar::cuda
