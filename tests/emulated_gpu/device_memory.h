// Memory of the emulated device: the host faults on it outside of device work.
#ifndef ASHLAR_TESTS_EMULATED_GPU_DEVICE_MEMORY_H_
#define ASHLAR_TESTS_EMULATED_GPU_DEVICE_MEMORY_H_

#include <cstdint>

namespace ashlar::emulated {

// While one lives, all of the device's memory can be read and written.
class DeviceWork {
 public:
  DeviceWork();
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
};

enum class Place { kNowhere, kDevice, kPinned, kPageable };
// Where these bytes are, all of them: kNowhere where they begin in the device's or in pinned memory
// and reach over its end, or belong to memory that was freed, or are null.
Place Find(const void* data, int64_t bytes);

// Bytes of the device that are free.
int64_t FreeMemory();
// Without so many, nothing can be made that the driver keeps on the device.
inline constexpr int64_t kOwnMemory = 4096;

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_DEVICE_MEMORY_H_
