// A cuDNN handle for streams that never work at the same time. The library keeps device memory for
// it, so it is created on first use.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CUDNN_HANDLE_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CUDNN_HANDLE_H_

#include <mutex>

#include "absl/functional/function_ref.h"
#include "runtime/cuda/toolkit/errors.h"

namespace ashlar::cuda {

class CudnnHandle {
 public:
  explicit CudnnHandle(int device) : device_(device) {}
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  // Calls `use` with the handle, set to submit work to `stream`. Only one thread at a time. The
  // first use must not be inside a capture.
  absl::Status Use(cudaStream_t stream, absl::FunctionRef<absl::Status(cudnnHandle_t)> use);

 private:
  const int device_;
  cudnnHandle_t handle_ = nullptr;
  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;  // current stream of the handle
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CUDNN_HANDLE_H_
