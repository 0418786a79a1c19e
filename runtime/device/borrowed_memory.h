// Memory of another owner, used as a device's memory.
#ifndef ASHLAR_RUNTIME_DEVICE_BORROWED_MEMORY_H_
#define ASHLAR_RUNTIME_DEVICE_BORROWED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/device/device.h"

namespace ashlar {

// A block that `owner` keeps alive; null if the caller does. Constant data is never written.
class BorrowedMemory final : public DeviceMemory {
 public:
  BorrowedMemory(std::shared_ptr<const void> owner, const void* data, int64_t bytes)
      : owner_(std::move(owner)) {
    data_ = const_cast<void*>(data);
    bytes_ = bytes;
  }

 private:
  std::shared_ptr<const void> owner_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_BORROWED_MEMORY_H_
