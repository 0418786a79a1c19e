// A handle of cuDNN for streams that are never at work at once. The library keeps memory on the
// device for it, so it is created when it is first used.
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

  // Calls `use` with the handle, which hands work over to `stream`; one thread at a time. The first
  // use is in no capture.
  absl::Status Use(cudaStream_t stream, absl::FunctionRef<absl::Status(cudnnHandle_t)> use);

 private:
  const int device_;
  cudnnHandle_t handle_ = nullptr;
  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;  // that the handle has now
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CUDNN_HANDLE_H_
