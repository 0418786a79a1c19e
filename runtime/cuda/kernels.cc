#include "runtime/cuda/kernels.h"

namespace ashlar::cuda {

void RegisterCudaKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
  RegisterConvolutionKernels(registry, libraries);
  RegisterFoldKernels(registry, libraries);
  RegisterImageKernels(registry);
  RegisterMovementKernels(registry);
  RegisterPointwiseKernels(registry);
  RegisterPoolingKernels(registry);
}

}  // namespace ashlar::cuda
