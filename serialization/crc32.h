// CRC-32, as zlib computes it.
#ifndef ASHLAR_SERIALIZATION_CRC32_H_
#define ASHLAR_SERIALIZATION_CRC32_H_

#include <cstddef>
#include <cstdint>

namespace ashlar {

// The CRC-32 of these bytes behind others whose CRC-32 is `before` (0: none).
uint32_t Crc32(uint32_t before, const void* data, size_t bytes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_CRC32_H_
