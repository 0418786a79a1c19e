#include "serialization/checksum.h"

#include <algorithm>
#include <memory>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ashlar {

uint64_t Checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

uint64_t Checksum(const void* data, size_t bytes, size_t piece,
                  const std::function<void(const void*, size_t)>& done_with) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const char* const begin = static_cast<const char*>(data);
  for (size_t at = 0; at < bytes; at += piece) {
    const size_t size = std::min(piece, bytes - at);
    XXH3_64bits_update(state.get(), begin + at, size);
    done_with(begin + at, size);
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace ashlar
