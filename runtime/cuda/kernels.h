// All kernels of CUDA devices; one registering function an operator family. What is here needs no
// toolkit: kernels of our own are launched through launch.h, those of libraries come from outside.
#ifndef ASHLAR_RUNTIME_CUDA_KERNELS_H_
#define ASHLAR_RUNTIME_CUDA_KERNELS_H_

#include <functional>

#include "opr/matrix_mul_bias.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

struct ConvProblem;  // conv/conv.h

// What libraries have for a request, the fastest first; empty where they have nothing. Times are
// relative to the fastest in the list.
struct LibraryKernels {
  std::function<absl::StatusOr<KernelList>(const ConvProblem&)> convolution;
  std::function<absl::StatusOr<KernelList>(const KernelRequest&)> matrix_mul;
};

// The parameters of a MatrixMul, as a MatrixMulBias without ReLU, or of a MatrixMulBias.
MatrixMulBiasParam ProductParam(const Operator& op);

// Without library functions there are only kernels of our own.
void RegisterKernels(KernelRegistry& registry, const LibraryKernels& libraries);

void RegisterBatchNormKernels(KernelRegistry& registry);
void RegisterConcatKernels(KernelRegistry& registry);
void RegisterConvolutionKernels(KernelRegistry& registry, const LibraryKernels& libraries);
void RegisterLrnKernels(KernelRegistry& registry);
void RegisterMatrixMulKernels(KernelRegistry& registry, const LibraryKernels& libraries);
void RegisterMovementKernels(KernelRegistry& registry);
void RegisterPointwiseKernels(KernelRegistry& registry);
void RegisterPoolingKernels(KernelRegistry& registry);
void RegisterReduceKernels(KernelRegistry& registry);
void RegisterRelayoutKernels(KernelRegistry& registry);
void RegisterSoftmaxKernels(KernelRegistry& registry);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_KERNELS_H_
