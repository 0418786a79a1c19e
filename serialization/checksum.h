// Checksums of sections of files, which find damage by a disk or a transfer. They are no proof
// against intent.
#ifndef ASHLAR_SERIALIZATION_CHECKSUM_H_
#define ASHLAR_SERIALIZATION_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ashlar {

// XXH3 (Collet, xxhash.com), 64 bits, of libxxhash.
uint64_t Checksum(const void* data, size_t bytes);
// The same, piece by piece; `done_with` hears of each piece once it was read.
uint64_t Checksum(const void* data, size_t bytes, size_t piece,
                  const std::function<void(const void*, size_t)>& done_with);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_CHECKSUM_H_
