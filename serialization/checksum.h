// Checksums of sections of files. They detect damage by disks or transfers, not deliberate changes.
#ifndef ASHLAR_SERIALIZATION_CHECKSUM_H_
#define ASHLAR_SERIALIZATION_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ashlar {

// The checksum of bytes that come piece by piece.
class RunningChecksum {
 public:
  RunningChecksum();
  void Add(const void* data, size_t bytes);
  uint64_t Value() const;

 private:
  std::shared_ptr<void> state_;
};

// Returns the 64-bit XXH3 hash (Collet, xxhash.com) by libxxhash.
uint64_t Checksum(const void* data, size_t bytes);

// The same for bytes that `read` copies to memory, piece by piece; its errors are returned.
absl::StatusOr<uint64_t> ChecksumOfReads(
    size_t bytes, size_t piece,
    const std::function<absl::Status(size_t at, size_t bytes, void* to)>& read);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_CHECKSUM_H_
