// Changes of an image's format as matrix transposes.
#ifndef ASHLAR_RUNTIME_CUDA_TRANSPOSE_H_
#define ASHLAR_RUNTIME_CUDA_TRANSPOSE_H_

#include <optional>
#include <string>

#include "graph/shape.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/transpose_code.h"

namespace ashlar::cuda {

// Returns the transpose from NCHW to NHWC or back, without pointers; nullopt for other formats or
// dtypes.
std::optional<TransposeParams> TransposeOf(const TensorType& from, const TensorType& to);

// Returns the kernel, named after `work` and how the matrices are cut: "transpose:tiles".
KernelList TransposeKernel(const std::string& work, const TransposeParams& params);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TRANSPOSE_H_
