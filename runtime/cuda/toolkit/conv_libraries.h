// Convolutions by NVIDIA's libraries.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_LIBRARIES_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_LIBRARIES_H_

#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/toolkit/library_device.h"

namespace ashlar::cuda {

// Returns cuDNN's engines in the order of its heuristics, best first, or none if cuDNN does not
// take the problem. Engines whose rounding the problem does not allow are left out. Without a
// device the kernels can be planned with, but not run.
absl::StatusOr<KernelList> CudnnConvolutions(const ConvProblem& problem,
                                             const LibraryDevice& device);

// Returns cuBLASLt kernels for 1x1 windows over whole NHWC images, with no activation or ReLU. They
// multiply [N H W, C] by [C, K]; residual, bias and ReLU are part of the same call. Only timing can
// tell whether they beat cuDNN's engines, so they are returned only if all candidates are
// requested. The list is empty for other convolutions, and without a device.
absl::StatusOr<KernelList> CublasConvolutions(const ConvProblem& problem,
                                              const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_LIBRARIES_H_
