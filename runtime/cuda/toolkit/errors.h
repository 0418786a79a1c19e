// Errors of the CUDA libraries as Status values.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include "graph/status.h"

namespace ashlar::cuda {

// Whether every later CUDA call of the process will fail too, because of work submitted earlier.
bool IsLasting(cudaError_t error);

// Returns Unavailable if libraries or the driver lack memory now. Otherwise returns Internal with
// the call, the error, and the library's reason if it gives one; it says so if the process cannot
// recover. If only a library reported the error, the CUDA runtime is asked for the cause.
absl::Status Check(cudaError_t error, absl::string_view call);
absl::Status Check(cudnnStatus_t status, absl::string_view call);
absl::Status Check(cublasStatus_t status, absl::string_view call);

}  // namespace ashlar::cuda

// Returns the error of a CUDA library call, with the text of the call.
#define ASHLAR_CUDA_RETURN_IF_ERROR(call) \
  ASHLAR_RETURN_IF_ERROR(::ashlar::cuda::Check((call), #call))

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_
