// A handle of cuDNN's, with the device's memory that the library keeps for it, for streams that are
// never at work at once.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CUDNN_HANDLE_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CUDNN_HANDLE_H_

#include <memory>
#include <mutex>

#include "absl/functional/function_ref.h"
#include "runtime/cuda/toolkit/errors.h"

namespace ashlar::cuda {

class CudnnHandle {
 public:
  // On the thread's device.
  static absl::StatusOr<std::shared_ptr<CudnnHandle>> Create();
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  // Calls `use` with the handle, which hands work over to `stream`; one thread at a time.
  absl::Status Use(cudaStream_t stream, absl::FunctionRef<absl::Status(cudnnHandle_t)> use);

 private:
  CudnnHandle() = default;

  int device_ = 0;
  cudnnHandle_t handle_ = nullptr;
  std::mutex mutex_;
  cudaStream_t stream_ = nullptr;  // that the handle has now
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CUDNN_HANDLE_H_
