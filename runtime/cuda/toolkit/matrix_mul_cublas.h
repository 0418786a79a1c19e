// Products of matrices on cuBLASLt.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_MATRIX_MUL_CUBLAS_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_MATRIX_MUL_CUBLAS_H_

#include "opr/matrix_mul_bias.h"
#include "runtime/cuda/toolkit/library_device.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// The algorithms that the library's heuristics name, with workspace and without, best first. Empty
// where it takes no such product: batches whose matrices are not one stride apart. Without a device
// one kernel without workspace stands for all; it can be planned with, but not run.
absl::StatusOr<KernelList> CublasMatrixMuls(const MatrixMulBiasParam& param,
                                            const KernelRequest& request,
                                            const LibraryDevice& device);

// ByteProducts::kernels. Which ones there are the heuristics say of devices alone: empty without
// one.
absl::StatusOr<KernelList> CublasByteProducts(int64_t m, int64_t n, int64_t k,
                                              const LibraryDevice& device);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_MATRIX_MUL_CUBLAS_H_
