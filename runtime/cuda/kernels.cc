#include "runtime/cuda/kernels.h"

namespace ashlar::cuda {

void RegisterKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
#define ASHLAR_FAMILY(Name) Register##Name##Kernels(registry, libraries);
  ASHLAR_CUDA_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY
}

}  // namespace ashlar::cuda
