// Checksums of sections of files: what a disk or a transfer has damaged is found. They are no proof
// against intent.
#ifndef ASHLAR_SERIALIZATION_CHECKSUM_H_
#define ASHLAR_SERIALIZATION_CHECKSUM_H_

#include <cstddef>
#include <cstdint>

namespace ashlar {

// XXH3 (Collet, xxhash.com), 64 bits, of libxxhash.
uint64_t Checksum(const void* data, size_t bytes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_CHECKSUM_H_
