#include "runtime/cuda/toolkit/cudnn_handle.h"

namespace ashlar::cuda {

// A destructor cannot report errors, and nothing can be done about them.
CudnnHandle::~CudnnHandle() {
  if (handle_ == nullptr) return;
  static_cast<void>(cudaSetDevice(device_));
  static_cast<void>(cudnnDestroy(handle_));
}

absl::Status CudnnHandle::Use(cudaStream_t stream,
                              absl::FunctionRef<absl::Status(cudnnHandle_t)> use) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (handle_ == nullptr) {
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaSetDevice(device_));
    ASHLAR_CUDA_RETURN_IF_ERROR(cudnnCreate(&handle_));
  }
  if (stream != stream_) {
    stream_ = nullptr;
    ASHLAR_CUDA_RETURN_IF_ERROR(cudnnSetStream(handle_, stream));
    stream_ = stream;
  }
  return use(handle_);
}

}  // namespace ashlar::cuda
