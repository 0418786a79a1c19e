// Memory of the host's that callers have had pinned for the device.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_PINNED_MEMORY_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_PINNED_MEMORY_H_

#include <cstdint>
#include <map>
#include <mutex>

#include "absl/status/status.h"

namespace ashlar::cuda {

// For several threads at once.
class PinnedMemory {
 public:
  // As Device has them. What others have pinned already is only noted.
  absl::Status Pin(void* data, int64_t bytes);
  absl::Status Unpin(void* data);
  bool Holds(const void* data, int64_t bytes) const;

 private:
  struct Block {
    int64_t bytes = 0;
    bool ours = true;  // not pinned by others before
  };
  mutable std::mutex mutex_;
  std::map<const char*, Block> blocks_;
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_PINNED_MEMORY_H_
