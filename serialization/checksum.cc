#include "serialization/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ashlar {

uint64_t Checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

}  // namespace ashlar
