// Errors of the CUDA libraries as values.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include "graph/status.h"

namespace ashlar::cuda {

// The memory that libraries and the driver need for themselves is not there now.
inline absl::Status NoMemoryLeft(absl::string_view call) {
  return absl::UnavailableError(
      absl::StrCat(call, ": out of memory: others hold the rest; try again when they are gone"));
}

// Whether every later call will fail, too: of work that was handed over earlier.
inline bool IsLasting(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorMisalignedAddress:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

inline absl::Status Check(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  static_cast<void>(cudaGetLastError());  // or the next call would report it once more
  if (error == cudaErrorMemoryAllocation) return NoMemoryLeft(call);
  return absl::InternalError(absl::StrCat(call, ": ", cudaGetErrorName(error), ", ",
                                          cudaGetErrorString(error),
                                          IsLasting(error) ? "; the device takes no more work from "
                                                             "this process: start it anew"
                                                           : ""));
}

inline absl::Status Check(cudnnStatus_t status, absl::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) return NoMemoryLeft(call);
  return absl::InternalError(absl::StrCat(call, ": ", cudnnGetErrorString(status)));
}

inline absl::Status Check(cublasStatus_t status, absl::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return NoMemoryLeft(call);
  return absl::InternalError(absl::StrCat(call, ": ", cublasLtGetStatusString(status)));
}

}  // namespace ashlar::cuda

// Returns the error of a call of a CUDA library, with the call's text.
#define ASHLAR_CUDA_RETURN_IF_ERROR(call) \
  ASHLAR_RETURN_IF_ERROR(::ashlar::cuda::Check((call), #call))

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_ERRORS_H_
