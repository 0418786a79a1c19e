// The launches of our own kernels: toolkit/kernels.cu, which tests compile for the host.
#ifndef ASHLAR_RUNTIME_CUDA_LAUNCH_H_
#define ASHLAR_RUNTIME_CUDA_LAUNCH_H_

#include "runtime/cuda/batch_norm_code.h"
#include "runtime/cuda/lrn_code.h"
#include "runtime/cuda/matrix_mul_code.h"
#include "runtime/cuda/pointwise.h"
#include "runtime/cuda/pooling_code.h"
#include "runtime/cuda/reduce_code.h"
#include "runtime/cuda/softmax_code.h"
#include "runtime/cuda/transpose_code.h"

namespace ashlar::cuda {

struct DepthwiseParams;   // conv/depthwise_code.h
struct DirectConvParams;  // conv/direct_code.h

// `stream` is a cudaStream_t. Null, or why the launch failed (a text that stays).
using LaunchError = const char*;

LaunchError Launch(const ChainParams& params, void* stream);
LaunchError Launch(const ConvertParams& params, void* stream);
LaunchError Launch(const CopyParams& params, void* stream);
LaunchError Launch(const TransposeParams& params, void* stream);
LaunchError Launch(const WriteParams& params, void* stream);
LaunchError Launch(const PoolParams& params, void* stream);
LaunchError Launch(const LrnParams& params, void* stream);
LaunchError Launch(const BatchNormParams& params, void* stream);
LaunchError Launch(const DirectConvParams& params, void* stream);
LaunchError Launch(const DepthwiseParams& params, void* stream);
LaunchError Launch(const ReduceParams& params, void* stream);
LaunchError Launch(const SoftmaxParams& params, void* stream);
LaunchError Launch(const MatrixParams& params, void* stream);
// Bytes that lie in the same order.
LaunchError CopyBytes(void* to, const void* from, int64_t bytes, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_LAUNCH_H_
