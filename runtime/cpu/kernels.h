// All CPU kernels; one registering function an operator family.
#ifndef ASHLAR_RUNTIME_CPU_KERNELS_H_
#define ASHLAR_RUNTIME_CPU_KERNELS_H_

#include "runtime/device/kernel.h"

namespace ashlar::cpu {

void RegisterKernels(KernelRegistry& registry);

void RegisterBatchNormKernels(KernelRegistry& registry);
void RegisterConcatKernels(KernelRegistry& registry);
void RegisterConvolutionKernels(KernelRegistry& registry);
void RegisterLrnKernels(KernelRegistry& registry);
void RegisterMatrixMulKernels(KernelRegistry& registry);
void RegisterMovementKernels(KernelRegistry& registry);
void RegisterPointwiseKernels(KernelRegistry& registry);
void RegisterPoolingKernels(KernelRegistry& registry);
void RegisterReduceKernels(KernelRegistry& registry);
void RegisterRelayoutKernels(KernelRegistry& registry);
void RegisterSoftmaxKernels(KernelRegistry& registry);
void RegisterTypeCvtKernels(KernelRegistry& registry);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_KERNELS_H_
