#include "tests/runtime/cuda/emulated_device.h"

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

EmulatedDevice::EmulatedDevice() {
  cuda::RegisterKernels(kernels_, {[this](const cuda::ConvProblem& problem) {
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

}  // namespace ashlar::testing
