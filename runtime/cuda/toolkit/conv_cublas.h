// Convolutions that are products of matrices, on cuBLASLt.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_CUBLAS_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_CUBLAS_H_

#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/toolkit/library_device.h"

namespace ashlar::cuda {

// With windows of 1x1, whole images in NHWC, and no activation but ReLU: [N H W, C] times [C, K],
// with residual, bias and ReLU in the same call. Whether they are faster than cuDNN's engines is
// for timing to say, so they are for those who ask for all candidates; empty for others, for other
// convolutions, and without a device.
absl::StatusOr<KernelList> CublasConvolutions(const ConvProblem& problem,
                                              const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_CUBLAS_H_
