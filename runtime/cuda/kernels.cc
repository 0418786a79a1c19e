#include "runtime/cuda/kernels.h"

namespace ashlar::cuda {

void RegisterKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
  RegisterBatchNormKernels(registry);
  RegisterConcatKernels(registry);
  RegisterConvolutionKernels(registry, libraries);
  RegisterLrnKernels(registry);
  RegisterMatrixMulKernels(registry, libraries);
  RegisterMovementKernels(registry);
  RegisterPointwiseKernels(registry);
  RegisterPoolingKernels(registry);
  RegisterReduceKernels(registry);
  RegisterRelayoutKernels(registry);
  RegisterSoftmaxKernels(registry);
}

}  // namespace ashlar::cuda
