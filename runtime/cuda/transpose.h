// Changes of an image's format as transposes of matrices.
#ifndef ASHLAR_RUNTIME_CUDA_TRANSPOSE_H_
#define ASHLAR_RUNTIME_CUDA_TRANSPOSE_H_

#include <optional>
#include <string>

#include "graph/shape.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/transpose_code.h"

namespace ashlar::cuda {

// From NCHW to NHWC or back, without pointers; nullopt where the formats or the dtypes are others.
std::optional<TransposeParams> TransposeOf(const TensorType& from, const TensorType& to);

// The kernel, named after the operator's work and how the matrices are cut: "transpose:tiles".
KernelList TransposeKernel(const std::string& work, const TransposeParams& params);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TRANSPOSE_H_
