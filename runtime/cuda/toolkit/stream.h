// A session's stream on a CUDA device, with the libraries' handles. Work is captured on a private
// stream, and runs on that or on a stream of the caller's.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_STREAM_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_STREAM_H_

#include <memory>
#include <vector>

#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/toolkit/cudnn_handle.h"
#include "runtime/cuda/toolkit/errors.h"

namespace ashlar::cuda {

class DeviceStream final : public CudaStream {
 public:
  // Creates a stream on device `index`; `callers` is a stream of the caller's, as in StreamUse.
  static absl::StatusOr<std::unique_ptr<DeviceStream>> Create(int index, void* callers,
                                                              std::shared_ptr<CudnnHandle> cudnn);
  ~DeviceStream() override;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  void* handle() const override { return stream(); }
  // Returns the stream to which work is currently submitted.
  cudaStream_t stream() const { return records_ || callers_ == nullptr ? own_ : callers_; }
  CudnnHandle& cudnn() const { return *cudnn_; }

  absl::Status CopyIn(void* device, const void* staging, int64_t bytes) override;
  absl::Status CopyOut(void* staging, const void* device, int64_t bytes) override;
  absl::Status Wait() override;
  absl::Status BeginRecording() override;
  absl::Status EndRecording() override;
  absl::Status Replay() override;
  absl::Status MakeMarks(int count) override;
  absl::Status Mark(int index) override;
  absl::StatusOr<double> SecondsBetween(int first, int second) override;
  absl::Status WaitForMark(Stream& other, int index) override;
  absl::Status WaitUntilPassed(int index) override;
  absl::Status WaitForEvent(void* event) override;
  absl::Status RecordEvent(void* event) override;

 private:
  DeviceStream() = default;
  void DropGraph();
  void DropRecording();
  absl::Status Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind);

  int device_ = 0;
  cudaStream_t own_ = nullptr, callers_ = nullptr;
  std::shared_ptr<CudnnHandle> cudnn_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t recording_ = nullptr;
  bool records_ = false;
  std::vector<cudaEvent_t> marks_;
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_STREAM_H_
