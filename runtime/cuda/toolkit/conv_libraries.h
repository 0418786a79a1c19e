// Convolutions on NVIDIA's libraries.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_LIBRARIES_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_LIBRARIES_H_

#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/toolkit/library_device.h"

namespace ashlar::cuda {

// cuDNN: the engines that its heuristics name for the problem, best first. Engines that round where
// the problem does not allow it are left out. Without a device the kernels can be planned with, but
// not run. Empty where the library takes no such problem.
absl::StatusOr<KernelList> CudnnConvolutions(const ConvProblem& problem,
                                             const LibraryDevice& device);

// cuBLASLt, with windows of 1x1, whole images in NHWC, and no activation but ReLU: [N H W, C] times
// [C, K], with residual, bias and ReLU in the same call. Whether they are faster than cuDNN's
// engines is for timing to say, so they are for those who ask for all candidates; empty for others,
// for other convolutions, and without a device.
absl::StatusOr<KernelList> CublasConvolutions(const ConvProblem& problem,
                                              const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_LIBRARIES_H_
