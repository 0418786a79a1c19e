// The error codes come from driver_types.h, cudnn_graph.h and cublas_api.h.
#include "runtime/cuda/toolkit/errors.h"

#include <algorithm>
#include <array>

namespace ashlar::cuda {
namespace {

constexpr char kProcessIsLost[] =
    "; the device takes no more work from this process: start it anew";

absl::Status NoMemoryLeft(absl::string_view call) {
  return absl::UnavailableError(
      absl::StrCat(call, ": out of memory: others hold the rest; try again when they are gone"));
}

std::string TextOf(cudaError_t error) {
  return absl::StrCat(cudaGetErrorName(error), ", ", cudaGetErrorString(error));
}

// Returns the CUDA runtime's error if earlier work has failed; a library often notices first,
// without saying more. Returns "" if the device works or does not exist.
std::string LastingError() {
  size_t free = 0, total = 0;
  const cudaError_t error = cudaMemGetInfo(&free, &total);
  if (error == cudaSuccess) return "";
  static_cast<void>(cudaGetLastError());
  return IsLasting(error) ? absl::StrCat(": ", TextOf(error), kProcessIsLost) : "";
}

// Returns why cuDNN's last call on this thread failed, in one line.
std::string CudnnReason() {
  std::array<char, 512> text = {};
  cudnnGetLastErrorString(text.data(), text.size());
  std::string reason(text.data());
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return reason.empty() ? "" : absl::StrCat(" (", reason, ")");
}

}  // namespace

bool IsLasting(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

absl::Status Check(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  static_cast<void>(cudaGetLastError());  // otherwise the next call would report it again
  if (error == cudaErrorMemoryAllocation) return NoMemoryLeft(call);
  return absl::InternalError(
      absl::StrCat(call, ": ", TextOf(error), IsLasting(error) ? kProcessIsLost : ""));
}

absl::Status Check(cudnnStatus_t status, absl::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) return NoMemoryLeft(call);
  // Lower numbers mean that the request is invalid or not supported.
  const bool runs = status >= CUDNN_STATUS_INTERNAL_ERROR;
  return absl::InternalError(absl::StrCat(call, ": ", cudnnGetErrorString(status), CudnnReason(),
                                          runs ? LastingError() : ""));
}

absl::Status Check(cublasStatus_t status, absl::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  if (status == CUBLAS_STATUS_ALLOC_FAILED) return NoMemoryLeft(call);
  const bool runs =
      status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR;
  return absl::InternalError(
      absl::StrCat(call, ": ", cublasLtGetStatusString(status), runs ? LastingError() : ""));
}

}  // namespace ashlar::cuda
