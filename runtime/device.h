// Devices: memory and kernels behind a comp node.
#ifndef ASHLAR_RUNTIME_DEVICE_H_
#define ASHLAR_RUNTIME_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/comp_node.h"
#include "runtime/kernel.h"

namespace ashlar {

// One block of device memory, freed with the object.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 protected:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual CompNode comp_node() const = 0;
  // Alignment of chunks inside an arena, bytes.
  virtual int64_t alignment() const = 0;
  virtual const KernelRegistry& kernels() const = 0;
  // What its kernels choose the layout of packed weights by: "avx512".
  virtual std::string processor() const { return ""; }
  // ResourceExhausted where the device has not that much.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes) = 0;
  // Called on a thread before it makes kernels or runs them with that many threads.
  virtual void UseThreads(int threads) = 0;
};

// Backends register at program start; devices live for ever.
using DeviceOpener = std::function<absl::StatusOr<Device*>(const CompNode&)>;
void RegisterDeviceType(CompNode::Type type, DeviceOpener opener);
absl::StatusOr<Device*> OpenDevice(const CompNode& comp_node);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_H_
