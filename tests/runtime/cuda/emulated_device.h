// An emulated CUDA device for tests without one. It has host memory, streams that work when they
// are waited for, and our own kernels compiled for the host (emulation/). It has no libraries
// except the ones that a test installs.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_

#include <functional>
#include <memory>
#include <optional>

#include "runtime/cuda/kernels.h"
#include "runtime/device/device.h"
#include "tests/runtime/cuda/emulated_stream.h"

namespace ashlar::testing {

class EmulatedDevice final : public Device, public EmulatedStreams {
 public:
  // Makes this device open as gpu0:0 from now on.
  static EmulatedDevice& Install();

  // Bytes that may be allocated, and bytes allocated now.
  int64_t capacity = int64_t{1} << 40;
  int64_t taken_by_others = 0;
  int64_t allocated = 0;
  int64_t staging = 0;               // bytes allocated in the host's memory
  bool leaves_whole_images = false;  // Device::leaves_images
  // Returns the library's kernels for a convolution; null: there is no library.
  std::function<absl::StatusOr<KernelList>(const cuda::ConvProblem&)> convolution_library;

  CompNode comp_node() const override { return {CompNode::Type::kGpu, 0, 0}; }
  int64_t alignment() const override { return 512; }
  int64_t tensor_alignment() const override { return 16; }
  Format image_format() const override { return Format::kNHWC; }
  bool leaves_images(DType, const KernelPolicy&) const override { return leaves_whole_images; }
  bool runs_chains() const override { return true; }
  const KernelRegistry& kernels() const override { return kernels_; }
  bool is_host() const override { return false; }
  void UseThreads(int) override {}
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateStaging(int64_t bytes) override;
  absl::StatusOr<std::unique_ptr<Stream>> NewStream(const StreamUse&) override {
    return std::make_unique<EmulatedStream>(*this);
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
