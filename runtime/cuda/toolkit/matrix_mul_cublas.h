// Matrix products by cuBLASLt.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_MATRIX_MUL_CUBLAS_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_MATRIX_MUL_CUBLAS_H_

#include "opr/matrix_mul_bias.h"
#include "runtime/cuda/toolkit/library_device.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// Returns the algorithms that the library's heuristics name, with and without workspace, the best
// first. Empty if cuBLASLt does not take the product, e.g. if the matrices of a batch are not
// equally spaced. Without a device, returns one kernel without workspace that can be planned with,
// but not run.
absl::StatusOr<KernelList> CublasMatrixMuls(const MatrixMulBiasParam& param,
                                            const KernelRequest& request,
                                            const LibraryDevice& device);

// Implements ByteProducts::kernels. Returns none without a device, because the heuristics need one.
absl::StatusOr<KernelList> CublasByteProducts(int64_t m, int64_t n, int64_t k,
                                              const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_MATRIX_MUL_CUBLAS_H_
