// A test device that opens as gpu0:0: host memory, and kernels that a test provides.
#ifndef ASHLAR_TESTS_RUNTIME_FAKE_DEVICE_H_
#define ASHLAR_TESTS_RUNTIME_FAKE_DEVICE_H_

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/device.h"

namespace ashlar::testing {

// Adds one to each float of its input, with the workspace, time and overrun that a test chooses.
class ScriptedKernel final : public Kernel {
 public:
  struct Behaviour {
    std::string name = "fake";
    int64_t workspace = 0;
    double time = 1.0;
    int64_t overrun = 0;  // bytes that EXP writes beyond its output
    // Called in each run, with the operator's base name.
    std::function<void(const std::string& base_name)> during = nullptr;
    // Called in each run, with the bytes of the output.
    std::function<void(int64_t bytes)> sized = nullptr;
  };
  ScriptedKernel(Behaviour behaviour, int64_t bytes, std::string base_name)
      : behaviour_(std::move(behaviour)), bytes_(bytes), base_name_(std::move(base_name)) {}
  std::string implementation() const override { return behaviour_.name; }
  int64_t workspace_bytes() const override { return behaviour_.workspace; }
  double relative_time() const override { return behaviour_.time; }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    if (behaviour_.during != nullptr) behaviour_.during(base_name_);
    if (behaviour_.sized != nullptr) behaviour_.sized(bytes_);
    const float* input = static_cast<const float*>(args.inputs[0]);
    float* output = static_cast<float*>(args.outputs[0]);
    for (int64_t i = 0; i < bytes_ / 4; ++i) output[i] = input[i] + 1;
    std::memset(reinterpret_cast<char*>(output) + bytes_, 0x11,
                static_cast<size_t>(behaviour_.overrun));
    if (behaviour_.workspace > 0) {
      std::memset(args.workspace, 0x22, static_cast<size_t>(behaviour_.workspace));
    }
    return absl::OkStatus();
  }

 private:
  const Behaviour behaviour_;
  const int64_t bytes_;
  const std::string base_name_;
};

class FakeDevice final : public Device {
 public:
  // Makes it open as gpu0:0 from now on. Elemwise runs on kernels of these behaviours, fastest
  // first.
  static FakeDevice& Install(std::vector<ScriptedKernel::Behaviour> behaviours) {
    static FakeDevice* const device = new FakeDevice();
    device->registry_.Register(
        "Elemwise", [behaviours](const KernelRequest& request) -> absl::StatusOr<KernelList> {
          KernelList list;
          const std::string name(request.op->base_name());
          for (ScriptedKernel::Behaviour behaviour : behaviours) {
            if (name != "EXP") behaviour.overrun = 0;
            list.push_back(
                std::make_unique<ScriptedKernel>(behaviour, request.outputs[0].bytes(), name));
          }
          return list;
        });
    // Takes no time, and copies nothing.
    device->registry_.Register("Concat", [](const KernelRequest&) -> absl::StatusOr<KernelList> {
      KernelList list;
      list.push_back(std::make_unique<ScriptedKernel>(ScriptedKernel::Behaviour(), 0, "Concat"));
      return list;
    });
    RegisterDeviceType(CompNode::Type::kGpu,
                       [](const CompNode&) -> absl::StatusOr<Device*> { return device; });
    return *device;
  }

  CompNode comp_node() const override { return {CompNode::Type::kGpu, 0, 0}; }
  int64_t alignment() const override { return 64; }
  const KernelRegistry& kernels() const override { return registry_; }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) override {
    return std::make_unique<Block>(bytes);
  }
  void UseThreads(int) override {}

 private:
  struct Block final : public DeviceMemory {
    explicit Block(int64_t bytes) : storage(static_cast<size_t>(bytes)) {
      data_ = storage.data();
      bytes_ = bytes;
    }
    std::vector<char> storage;
  };
  KernelRegistry registry_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_FAKE_DEVICE_H_
