#include "serialization/checksum.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "graph/status.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ashlar {
namespace {

XXH3_state_t* StateOf(const std::shared_ptr<void>& state) {
  return static_cast<XXH3_state_t*>(state.get());
}

}  // namespace

RunningChecksum::RunningChecksum() : state_(XXH3_createState(), XXH3_freeState) {
  XXH3_64bits_reset(StateOf(state_));
}

void RunningChecksum::Add(const void* data, size_t bytes) {
  XXH3_64bits_update(StateOf(state_), data, bytes);
}

uint64_t RunningChecksum::Value() const { return XXH3_64bits_digest(StateOf(state_)); }

uint64_t Checksum(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

absl::StatusOr<uint64_t> ChecksumOfReads(
    size_t bytes, size_t piece,
    const std::function<absl::Status(size_t at, size_t bytes, void* to)>& read) {
  RunningChecksum checksum;
  std::vector<char> memory(std::min(piece, bytes));
  for (size_t at = 0; at < bytes; at += piece) {
    const size_t size = std::min(piece, bytes - at);
    ASHLAR_RETURN_IF_ERROR(read(at, size, memory.data()));
    checksum.Add(memory.data(), size);
  }
  return checksum.Value();
}

}  // namespace ashlar
