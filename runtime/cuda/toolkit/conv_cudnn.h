// Convolutions on cuDNN.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_CUDNN_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_CUDNN_H_

#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/toolkit/library_device.h"

namespace ashlar::cuda {

// The engines that the library's heuristics name for the problem, best first. Engines that round
// where the problem does not allow it are left out. Without a device the kernels can be planned
// with, but not run. Empty where the library takes no such problem.
absl::StatusOr<KernelList> CudnnConvolutions(const ConvProblem& problem,
                                             const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_CUDNN_H_
