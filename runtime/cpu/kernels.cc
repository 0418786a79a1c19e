#include "runtime/cpu/kernels.h"

namespace ashlar {

void RegisterCpuKernels(KernelRegistry& registry) {
  RegisterBatchNormKernels(registry);
  RegisterConcatKernels(registry);
  RegisterConvolutionKernels(registry);
  RegisterElementwiseKernels(registry);
  RegisterLrnKernels(registry);
  RegisterMatrixMulKernels(registry);
  RegisterMovementKernels(registry);
  RegisterPoolingKernels(registry);
  RegisterReduceKernels(registry);
  RegisterRelayoutKernels(registry);
  RegisterSoftmaxKernels(registry);
  RegisterTypeCvtKernels(registry);
}

}  // namespace ashlar
