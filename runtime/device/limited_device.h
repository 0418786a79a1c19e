// A device with less memory than it has: what is allocated beyond a limit is refused, and what is
// allocated is counted.
#ifndef ASHLAR_RUNTIME_DEVICE_LIMITED_DEVICE_H_
#define ASHLAR_RUNTIME_DEVICE_LIMITED_DEVICE_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace ashlar {

// While it lives, OpenDevice gives this device in the place of the one behind it. What was made of
// it has to be gone before. Not for several threads at once.
class LimitedDevice final {
 public:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

  // Errors are OpenDevice's.
  static absl::StatusOr<std::unique_ptr<LimitedDevice>> Install(const CompNode& comp_node);
  ~LimitedDevice();
  LimitedDevice(const LimitedDevice&) = delete;
  LimitedDevice& operator=(const LimitedDevice&) = delete;

  Device& device();
  // Of all blocks together, each rounded up to `granularity` bytes; a block that would go beyond is
  // ResourceExhausted. Staging memory counts where `staging` says so. To be called while there are
  // no blocks.
  void SetLimit(int64_t bytes, int64_t granularity = 1, bool staging = true);
  // Bytes of the blocks that there are now, as they count.
  int64_t used() const;

 private:
  class Wrapper;
  explicit LimitedDevice(Device& behind);

  const std::unique_ptr<Wrapper> wrapper_;
  DeviceOpener before_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_LIMITED_DEVICE_H_
