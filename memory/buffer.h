// Buffers with known lifetimes, how they share bytes, and the plan that gives them offsets: what
// planners are given and return.
#ifndef ASHLAR_MEMORY_BUFFER_H_
#define ASHLAR_MEMORY_BUFFER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ashlar::memory {

// One allocation with a known lifetime.
struct Buffer {
  int64_t id = 0;         // The caller's name for it; need not be unique or dense.
  int64_t lower = 0;      // First step at which it is live.
  int64_t upper = 0;      // First step after that; lifetimes are half-open.
  int64_t size = 0;       // Bytes. Zero occupies nothing, wherever it is fixed.
  int64_t alignment = 1;  // Bytes, a power of two.
  std::optional<int64_t> offset = std::nullopt;  // Bytes, where the address is prescribed.
};

// "inner lies inside of outer": inner's address is outer's address + offset.
// Both may hold the shared bytes at the same time (views, an output that
// overwrites its input, parts written straight into a concatenation).
// With offset 0 and equal sizes: they must share.
struct Inside {
  int inner = 0;       // Index into Problem::buffers.
  int outer = 0;       // Index into Problem::buffers.
  int64_t offset = 0;  // Bytes; offset + inner's size <= outer's size.
};

// Dynamic storage allocation: give each buffer an address so that buffers
// which are live at the same step and are not related by `inside` (directly or
// through others) do not overlap, in as few bytes as possible.
struct Problem {
  std::vector<Buffer> buffers;
  std::vector<Inside> inside;
};

// An answer to a Problem.
struct Plan {
  std::vector<int64_t> offsets;  // Bytes, one for each buffer of the problem.
  int64_t arena = 0;             // Bytes: the highest end of a buffer that has bytes.
  std::string planner;           // Name of the planner that found it.
  // Bytes that the planner itself proved no plan can do without; 0 if it
  // proved nothing. A search that was exhausted sets it to `arena`.
  int64_t proven_bound = 0;
};

// No sum of sizes, alignment gaps and prescribed offsets may exceed this, so
// that planners can add without checking.
inline constexpr int64_t kMaxBytes = int64_t{1} << 62;

// Adds up what kMaxBytes limits, buffer by buffer.
class TotalBytes {
 public:
  // InvalidArgument where this one is too much; the message does not name it.
  absl::Status Add(const Buffer& buffer);

 private:
  int64_t sum_ = 0;            // Of sizes and of the gaps that alignments can force.
  int64_t highest_fixed_ = 0;  // Offset.
};

// Checks one buffer: its lifetime neither empty nor reversed, size and offset not
// negative, alignment a power of two that the fixed offset keeps. The message
// does not name the buffer.
absl::Status ValidateBuffer(const Buffer& buffer);

// Checks everything that planners rely on: every buffer, the total within kMaxBytes,
// relations within bounds and in containment.
// InvalidArgument names the buffer. Contradictory relations are found later, by
// Instance::Create.
absl::Status ValidateProblem(const Problem& problem);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_BUFFER_H_
