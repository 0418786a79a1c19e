#include "serialization/crc32.h"

#include <zlib.h>

namespace ashlar {

uint32_t Crc32(uint32_t before, const void* data, size_t bytes) {
  return static_cast<uint32_t>(crc32_z(before, static_cast<const Bytef*>(data), bytes));
}

}  // namespace ashlar
