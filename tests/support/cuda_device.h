// The GPU backend's library in tests, and a device if one is present.
#ifndef ASHLAR_TESTS_SUPPORT_CUDA_DEVICE_H_
#define ASHLAR_TESTS_SUPPORT_CUDA_DEVICE_H_

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "runtime/device/device.h"
#include "runtime/device/device_library.h"

namespace ashlar::testing {

inline constexpr CompNode kGpu = {CompNode::Type::kGpu, 0, 0};

inline absl::StatusOr<Device*> OpenGpu(const CompNode& comp_node = kGpu) {
  static const bool registered = [] {
    RegisterDeviceLibrary(CompNode::Type::kGpu, "libashlar_cuda.so");
    return true;
  }();
  static_cast<void>(registered);
  return OpenDevice(comp_node);
}

// A fixture that skips tests if the library, or a device, is missing.
class CudaLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<Device*> device = OpenGpu();
    if (!device.ok()) GTEST_SKIP() << device.status().message();
    device_ = *device;
  }
  Device* device_ = nullptr;
};

class CudaDevice : public CudaLibrary {
 protected:
  void SetUp() override {
    CudaLibrary::SetUp();
    if (device_ == nullptr) return;
    if (const absl::Status ready = device_->ready(); !ready.ok()) GTEST_SKIP() << ready.message();
  }
  // Returns whether a host emulates the GPU, hundreds of times slower.
  bool Emulated() const {
    return absl::StrContains(device_->measured_as(device_->processor()), "Emulated");
  }
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_CUDA_DEVICE_H_
