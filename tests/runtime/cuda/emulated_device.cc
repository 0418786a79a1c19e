#include "tests/runtime/cuda/emulated_device.h"

#include <cstring>
#include <utility>

#include "graph/status.h"
#include "runtime/allocation_origin.h"
#include "tests/runtime/cuda/emulation/grid.h"

namespace ashlar::testing {
namespace {

class Block final : public DeviceMemory {
 public:
  Block(int64_t bytes, int64_t& allocated)
      : storage_(static_cast<size_t>(bytes) + 512), allocated_(allocated) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    data_ = storage_.data() + (512 - address % 512) % 512;
    bytes_ = bytes;
    allocated_ += bytes;
  }
  ~Block() override { allocated_ -= bytes_; }

 private:
  std::vector<char> storage_;
  int64_t& allocated_;
};

}  // namespace

absl::Status EmulatedStream::CopyIn(void* device, const void* staging, int64_t bytes) {
  Enqueue([=] { std::memcpy(device, staging, static_cast<size_t>(bytes)); });
  return absl::OkStatus();
}

absl::Status EmulatedStream::CopyOut(void* staging, const void* device, int64_t bytes) {
  return CopyIn(staging, device, bytes);
}

absl::Status EmulatedStream::Wait() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  if (recording_)
    return absl::FailedPreconditionError("a stream that records cannot be waited for");
  for (const Work& work : pending_) {
    work();
    ++done_;
  }
  pending_.clear();
  return absl::OkStatus();
}

absl::Status EmulatedStream::BeginRecording() {
  recording_ = true;
  recording_work_.clear();
  return absl::OkStatus();
}

absl::Status EmulatedStream::EndRecording() {
  recording_ = false;
  return absl::OkStatus();
}

absl::Status EmulatedStream::Replay() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  pending_.insert(pending_.end(), recording_work_.begin(), recording_work_.end());
  ++EmulatedDevice::Install().replays;
  return absl::OkStatus();
}

absl::Status EmulatedStream::MakeMarks(int count) {
  marks_.resize(static_cast<size_t>(count));
  return absl::OkStatus();
}

absl::Status EmulatedStream::Mark(int index) {
  Enqueue([this, index] { marks_[static_cast<size_t>(index)] = done_; });
  return absl::OkStatus();
}

// A second for each piece of work.
absl::StatusOr<double> EmulatedStream::SecondsBetween(int first, int second) {
  return marks_[static_cast<size_t>(second)] - marks_[static_cast<size_t>(first)];
}

EmulatedDevice::EmulatedDevice() {
  cuda::RegisterCudaKernels(kernels_, {[this](const cuda::ConvProblem& problem) {
                                         return convolution_library
                                                    ? convolution_library(problem)
                                                    : absl::StatusOr<KernelList>(KernelList());
                                       },
                                       nullptr});
}

EmulatedDevice& EmulatedDevice::Install() {
  static EmulatedDevice* const device = new EmulatedDevice();
  RegisterDeviceType(CompNode::Type::kGpu,
                     [](const CompNode&) -> absl::StatusOr<Device*> { return device; });
  return *device;
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> EmulatedDevice::Allocate(int64_t bytes) {
  if (bytes > capacity) return absl::ResourceExhaustedError("emulated device: too small");
  if (bytes > memory()->free) return absl::UnavailableError("emulated device: taken by others");
  return std::make_unique<Block>(bytes, allocated);
}

absl::StatusOr<std::unique_ptr<DeviceMemory>> EmulatedDevice::AllocateStaging(int64_t bytes) {
  return std::make_unique<Block>(bytes, staging);
}

void EnqueueOn(void* stream, std::function<void()> work) {
  static_cast<EmulatedStream*>(stream)->Enqueue(std::move(work));
}

}  // namespace ashlar::testing
