// A CUDA device for tests where there is none: host memory, streams that do their work when they
// are waited for, and our own kernels compiled for the host (emulation/). There are no libraries
// but what a test puts in their place.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_

#include <functional>
#include <memory>
#include <vector>

#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/device.h"

namespace ashlar::testing {

class EmulatedStream final : public cuda::CudaStream {
 public:
  using Work = std::function<void()>;
  void Enqueue(Work work) { (recording_ ? recording_work_ : pending_).push_back(std::move(work)); }

  void* handle() const override { return const_cast<EmulatedStream*>(this); }
  absl::Status CopyIn(void* device, const void* staging, int64_t bytes) override;
  absl::Status CopyOut(void* staging, const void* device, int64_t bytes) override;
  absl::Status Wait() override;
  absl::Status BeginRecording() override;
  absl::Status EndRecording() override;
  absl::Status Replay() override;
  absl::Status MakeMarks(int count) override;
  absl::Status Mark(int index) override;
  absl::StatusOr<double> SecondsBetween(int first, int second) override;

 private:
  bool recording_ = false;
  std::vector<Work> pending_, recording_work_;
  std::vector<int> marks_;  // how much work was done before each
  int done_ = 0;
};

class EmulatedDevice final : public Device {
 public:
  // Opens as gpu0:0 from now on.
  static EmulatedDevice& Install();

  // Bytes that may be allocated; what is allocated now, and how many recordings were replayed.
  int64_t capacity = int64_t{1} << 40;
  int64_t taken_by_others = 0;
  int64_t allocated = 0;
  int64_t staging = 0;  // likewise, in the host's memory
  int64_t replays = 0;
  // What the library that it has has for a convolution; null: it has none.
  std::function<absl::StatusOr<KernelList>(const cuda::ConvProblem&)> convolution_library;

  CompNode comp_node() const override { return {CompNode::Type::kGpu, 0, 0}; }
  int64_t alignment() const override { return 512; }
  int64_t tensor_alignment() const override { return 16; }
  Format image_format() const override { return Format::kNHWC; }
  bool runs_chains() const override { return true; }
  const KernelRegistry& kernels() const override { return kernels_; }
  bool is_host() const override { return false; }
  void UseThreads(int) override {}
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateStaging(int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Stream>> NewStream() override {
    return std::make_unique<EmulatedStream>();
  }
  std::optional<MemoryState> memory() override {
    return MemoryState{capacity - taken_by_others - allocated, capacity};
  }

 private:
  EmulatedDevice();
  KernelRegistry kernels_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
