// Checksums of sections of files. They detect damage by disks or transfers, not deliberate changes.
#ifndef ASHLAR_SERIALIZATION_CHECKSUM_H_
#define ASHLAR_SERIALIZATION_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ashlar {

// Returns the 64-bit XXH3 hash (Collet, xxhash.com) by libxxhash.
uint64_t Checksum(const void* data, size_t bytes);
// The same, piece by piece; calls `done_with` after reading each piece.
uint64_t Checksum(const void* data, size_t bytes, size_t piece,
                  const std::function<void(const void*, size_t)>& done_with);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_CHECKSUM_H_
