#include "serialization/checksum.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "graph/status.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ashlar {
namespace {

using State = std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)>;

State NewState() {
  State state(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  return state;
}

}  // namespace

uint64_t Checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

uint64_t Checksum(const void* data, size_t bytes, size_t piece,
                  const std::function<void(const void*, size_t)>& done_with) {
  const State state = NewState();
  const char* const begin = static_cast<const char*>(data);
  for (size_t at = 0; at < bytes; at += piece) {
    const size_t size = std::min(piece, bytes - at);
    XXH3_64bits_update(state.get(), begin + at, size);
    done_with(begin + at, size);
  }
  return XXH3_64bits_digest(state.get());
}

absl::StatusOr<uint64_t> ChecksumOfReads(
    size_t bytes, size_t piece,
    const std::function<absl::Status(size_t at, size_t bytes, void* to)>& read) {
  const State state = NewState();
  std::vector<char> memory(std::min(piece, bytes));
  for (size_t at = 0; at < bytes; at += piece) {
    const size_t size = std::min(piece, bytes - at);
    ASHLAR_RETURN_IF_ERROR(read(at, size, memory.data()));
    XXH3_64bits_update(state.get(), memory.data(), size);
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace ashlar
