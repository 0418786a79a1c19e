// Memory of the emulated device: the host faults on it outside of device work.
#ifndef ASHLAR_TESTS_EMULATED_GPU_DEVICE_MEMORY_H_
#define ASHLAR_TESTS_EMULATED_GPU_DEVICE_MEMORY_H_

#include <cstdint>

namespace ashlar::emulated {

// Makes all of the device's memory readable and writable during its lifetime.
class DeviceWork {
 public:
  DeviceWork();
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
};

enum class Place { kNowhere, kDevice, kPinned, kPageable };
// Returns the kind of memory that holds all these bytes. kNowhere: they begin in device or pinned
// memory and extend beyond its end, belong to freed memory, or are null.
Place Find(const void* data, int64_t bytes);

// Returns the free bytes of the device.
int64_t FreeMemory();
// Objects that the driver keeps on the device need at least this much free memory.
inline constexpr int64_t kOwnMemory = 4096;

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_DEVICE_MEMORY_H_
