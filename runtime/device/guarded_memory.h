// Host memory that detects accesses beyond its end.
#ifndef ASHLAR_RUNTIME_DEVICE_GUARDED_MEMORY_H_
#define ASHLAR_RUNTIME_DEVICE_GUARDED_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace ashlar {

// A block that ends exactly at an inaccessible page: any access beyond it is a fault.
class GuardedMemory {
 public:
  static absl::StatusOr<std::unique_ptr<GuardedMemory>> Allocate(int64_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  // Makes writes a fault as well, from now on.
  absl::Status MakeReadOnly();

 private:
  GuardedMemory() = default;
  void* mapping_ = nullptr;
  int64_t mapped_ = 0;  // with the guard page
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_GUARDED_MEMORY_H_
