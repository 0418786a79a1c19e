#include "runtime/mcu/mcu_device.h"

#include <cstdlib>
#include <new>

#include "absl/strings/str_cat.h"
#include "graph/host_memory.h"
#include "runtime/device/device.h"
#include "runtime/mcu/kernels.h"

namespace ashlar::mcu {
namespace {

// A pool of zero-filled memory on this machine.
class HostMemory final : public DeviceMemory {
 public:
  explicit HostMemory(int64_t bytes) {
    bytes_ = bytes;
    if (bytes > 0) data_ = std::calloc(1, static_cast<size_t>(bytes));
  }
  ~HostMemory() override { std::free(data_); }
};

// The device. Images are NHWC: then rows of tiles are views, and images with few channels waste
// nothing.
class McuDevice final : public Device {
 public:
  McuDevice() { RegisterKernels(kernels_); }
  CompNode comp_node() const override { return kCompNode; }
  int64_t alignment() const override { return ArenaAlignment(Processor()); }
  int64_t arena_alignment(const Processor& processor) const override {
    return ArenaAlignment(processor);
  }
  Processor processor() const override {
    return Processor::OfMicrocontroller(Microcontroller::kGeneric);
  }
  Format image_format() const override { return Format::kNHWC; }
  bool reads_planes() const override { return true; }
  bool adds_quantized() const override { return true; }
  bool moves_overlapping() const override { return true; }
  const KernelRegistry& kernels() const override { return kernels_; }
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) override {
    auto memory = std::make_unique<HostMemory>(bytes);
    if (bytes > 0 && memory->data() == nullptr) return NoHostMemory(kCompNode.ToString(), bytes);
    return memory;
  }
  void UseThreads(int /*threads*/) override {}

 private:
  KernelRegistry kernels_;
};

}  // namespace

int64_t ArenaAlignment(const Processor& processor) {
  switch (processor.microcontroller) {
    case Microcontroller::kCortexM4:
    case Microcontroller::kRv32imc:
      return 4;
    case Microcontroller::kNone:
    case Microcontroller::kGeneric:
    case Microcontroller::kCortexM7:
    case Microcontroller::kCortexM55:
      return 8;
  }
  return 8;
}

void RegisterDevice() {
  RegisterDeviceType(CompNode::Type::kMcu, [](const CompNode& node) -> absl::StatusOr<Device*> {
    if (node != kCompNode) {
      return absl::InvalidArgumentError(
          absl::StrCat("device ", node.ToString(), ": the only one is ", kCompNode.ToString()));
    }
    static McuDevice* const device = new McuDevice;
    return device;
  });
}

}  // namespace ashlar::mcu
