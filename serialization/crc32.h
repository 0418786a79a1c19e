// CRC-32 as in zlib.
#ifndef ASHLAR_SERIALIZATION_CRC32_H_
#define ASHLAR_SERIALIZATION_CRC32_H_

#include <cstddef>
#include <cstdint>

namespace ashlar {

// Returns the CRC-32 after appending these bytes to data whose CRC-32 is `before` (0: no data).
uint32_t Crc32(uint32_t before, const void* data, size_t bytes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_CRC32_H_
