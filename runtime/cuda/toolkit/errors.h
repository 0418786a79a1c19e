// Errors of the CUDA libraries as values.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include "graph/status.h"

namespace ashlar::cuda {

// Whether every later call of the process will fail, too: of work that was handed over earlier.
bool IsLasting(cudaError_t error);

// Unavailable where there is no memory left now for what libraries and the driver need; else
// Internal, which names the call, the error, the library's reason where it gives one, and says so
// where the process is lost. What only a library noticed, the runtime is asked for.
absl::Status Check(cudaError_t error, absl::string_view call);
absl::Status Check(cudnnStatus_t status, absl::string_view call);
absl::Status Check(cublasStatus_t status, absl::string_view call);

}  // namespace ashlar::cuda

// Returns the error of a call of a CUDA library, with the call's text.
#define ASHLAR_CUDA_RETURN_IF_ERROR(call) \
  ASHLAR_RETURN_IF_ERROR(::ashlar::cuda::Check((call), #call))

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_
