// Finds how much of a patterned block has been written: this measures arenas and pools.
#ifndef ASHLAR_RUNTIME_DEVICE_CHANGED_BYTES_H_
#define ASHLAR_RUNTIME_DEVICE_CHANGED_BYTES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace ashlar {

// Returns the position of the last byte that is not `pattern`, plus one; 0 if all are.
int64_t HighestChanged(const void* data, int64_t bytes, uint8_t pattern);

// The same for a block in the device's memory.
absl::StatusOr<int64_t> HighestChangedOn(Device& device, const void* data, int64_t bytes,
                                         uint8_t pattern);

// The end of a pool, from byte `begin` on, filled with a pattern to find the bytes written.
class PatternedEnd {
 public:
  PatternedEnd(Device& device, const DeviceMemory& pool, int64_t begin)
      : device_(device),
        begin_(begin),
        data_(static_cast<char*>(pool.data()) + begin),
        bytes_(pool.bytes() - begin) {}
  absl::Status Fill(uint8_t pattern);
  // Returns the bytes of the pool up to the last one that is not the pattern, at least `begin`.
  absl::StatusOr<int64_t> Written(uint8_t pattern);

 private:
  Device& device_;
  const int64_t begin_;
  char* const data_;
  const int64_t bytes_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_CHANGED_BYTES_H_
