// Host memory that callers have pinned for the device.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_PINNED_MEMORY_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_PINNED_MEMORY_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "absl/status/status.h"

namespace ashlar::cuda {

// The set of pinned ranges of memory. Thread-safe.
class PinnedMemory {
 public:
  // Implement Device::Pin and Device::Unpin. Memory that others have already pinned is only
  // counted.
  absl::Status Pin(void* data, int64_t bytes);
  absl::Status Unpin(void* data);
  bool Holds(const void* data, int64_t bytes) const;

 private:
  struct Block {
    int64_t bytes = 0;
    bool ours = true;  // false: others pinned it before
  };
  mutable std::mutex mutex_;
  std::map<const char*, Block> blocks_;
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_PINNED_MEMORY_H_
