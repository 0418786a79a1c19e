// A device with limited memory: refuses allocations beyond a limit, and counts allocated bytes.
#ifndef ASHLAR_RUNTIME_DEVICE_LIMITED_DEVICE_H_
#define ASHLAR_RUNTIME_DEVICE_LIMITED_DEVICE_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace ashlar {

// While this object lives, OpenDevice returns this device in place of the real one. Objects created
// with it must be destroyed first. Not for several threads at once.
class LimitedDevice final {
 public:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  // Errors are OpenDevice's.
  static absl::StatusOr<std::unique_ptr<LimitedDevice>> Install(const CompNode& comp_node);
  ~LimitedDevice();
  LimitedDevice(const LimitedDevice&) = delete;
  LimitedDevice& operator=(const LimitedDevice&) = delete;

  Device& device();
  // Sets the limit of all blocks together, each rounded up to `granularity` bytes; a block beyond
  // it is refused with ResourceExhausted. Staging memory counts if `staging` is true. Call this
  // while there are no blocks.
  void SetLimit(int64_t bytes, int64_t granularity = 1, bool staging = true);
  // Returns the counted bytes of the present blocks.
  int64_t used() const;

 private:
  class Wrapper;
  explicit LimitedDevice(Device& behind);

  const std::unique_ptr<Wrapper> wrapper_;
  DeviceOpener before_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_LIMITED_DEVICE_H_
