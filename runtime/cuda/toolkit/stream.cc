#include "runtime/cuda/toolkit/stream.h"

#include <utility>

#include "runtime/device/allocation_origin.h"

namespace ashlar::cuda {

absl::StatusOr<std::unique_ptr<DeviceStream>> DeviceStream::Create(
    int index, void* callers, std::shared_ptr<CudnnHandle> cudnn) {
  std::unique_ptr<DeviceStream> stream(new DeviceStream());
  stream->device_ = index;
  stream->callers_ = static_cast<cudaStream_t>(callers);
  stream->cudnn_ = std::move(cudnn);
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaSetDevice(index));
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithFlags(&stream->own_, cudaStreamNonBlocking));
  return stream;
}

// A destructor cannot report errors, and nothing can be done about them.
DeviceStream::~DeviceStream() {
  static_cast<void>(cudaSetDevice(device_));
  if (own_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream()));
  DropRecording();
  for (cudaEvent_t mark : marks_) static_cast<void>(cudaEventDestroy(mark));
  if (own_ != nullptr) static_cast<void>(cudaStreamDestroy(own_));
}

void DeviceStream::DropGraph() {
  if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  graph_ = nullptr;
}

void DeviceStream::DropRecording() {
  if (recording_ != nullptr) static_cast<void>(cudaGraphExecDestroy(recording_));
  recording_ = nullptr;
  DropGraph();
}

absl::Status DeviceStream::Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return absl::OkStatus();
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream()));
  return absl::OkStatus();
}

absl::Status DeviceStream::CopyIn(void* device, const void* staging, int64_t bytes) {
  return Copy(device, staging, bytes, cudaMemcpyHostToDevice);
}

absl::Status DeviceStream::CopyOut(void* staging, const void* device, int64_t bytes) {
  return Copy(staging, device, bytes, cudaMemcpyDeviceToHost);
}

absl::Status DeviceStream::Wait() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream()));
  return absl::OkStatus();
}

absl::Status DeviceStream::BeginRecording() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  DropGraph();
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaStreamBeginCapture(own_, cudaStreamCaptureModeThreadLocal));
  records_ = true;
  return absl::OkStatus();
}

absl::Status DeviceStream::EndRecording() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  records_ = false;
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaStreamEndCapture(own_, &graph_));
  // If only addresses differ, updates the existing recording. Otherwise makes a new one.
  cudaGraphExecUpdateResultInfo info = {};
  if (recording_ != nullptr && cudaGraphExecUpdate(recording_, graph_, &info) == cudaSuccess) {
    return absl::OkStatus();
  }
  if (recording_ != nullptr) {
    static_cast<void>(cudaGetLastError());
    static_cast<void>(cudaGraphExecDestroy(recording_));
    recording_ = nullptr;
  }
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaGraphInstantiate(&recording_, graph_, 0));
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaGraphUpload(recording_, stream()));
  return absl::OkStatus();
}

absl::Status DeviceStream::Replay() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaGraphLaunch(recording_, stream()));
  return absl::OkStatus();
}

absl::Status DeviceStream::MakeMarks(int count) {
  while (static_cast<int>(marks_.size()) < count) {
    cudaEvent_t mark = nullptr;
    ASHLAR_CUDA_RETURN_IF_ERROR(cudaEventCreate(&mark));
    marks_.push_back(mark);
  }
  return absl::OkStatus();
}

absl::Status DeviceStream::Mark(int index) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  // In a recording, the event must be set in each replay and visible from outside.
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaEventRecordWithFlags(
      marks_[index], stream(), records_ ? cudaEventRecordExternal : cudaEventRecordDefault));
  return absl::OkStatus();
}

absl::StatusOr<double> DeviceStream::SecondsBetween(int first, int second) {
  float milliseconds = 0;
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaEventElapsedTime(&milliseconds, marks_[first], marks_[second]));
  return milliseconds / 1000.0;
}

absl::Status DeviceStream::WaitForMark(Stream& other, int index) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  const cudaEvent_t mark = static_cast<DeviceStream&>(other).marks_[index];
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(stream(), mark, 0));
  return absl::OkStatus();
}

absl::Status DeviceStream::WaitUntilPassed(int index) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_CUDA_RETURN_IF_ERROR(cudaEventSynchronize(marks_[index]));
  return absl::OkStatus();
}

absl::Status DeviceStream::WaitForEvent(void* event) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_CUDA_RETURN_IF_ERROR(
      cudaStreamWaitEvent(stream(), static_cast<cudaEvent_t>(event), cudaEventWaitDefault));
  return absl::OkStatus();
}

absl::Status DeviceStream::RecordEvent(void* event) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_CUDA_RETURN_IF_ERROR(
      cudaEventRecordWithFlags(static_cast<cudaEvent_t>(event), stream(), cudaEventRecordDefault));
  return absl::OkStatus();
}

}  // namespace ashlar::cuda
