// How far memory that was filled with a pattern has been written: what is measured of arenas and
// pools.
#ifndef ASHLAR_RUNTIME_DEVICE_CHANGED_BYTES_H_
#define ASHLAR_RUNTIME_DEVICE_CHANGED_BYTES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace ashlar {

// One more than the position of the last byte that is not `pattern`; 0 if all are.
int64_t HighestChanged(const void* data, int64_t bytes, uint8_t pattern);

// One more than the position of the last byte in the device's memory that is not `pattern`; 0 if
// all are.
absl::StatusOr<int64_t> HighestChangedOn(Device& device, const void* data, int64_t bytes,
                                         uint8_t pattern);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_CHANGED_BYTES_H_
