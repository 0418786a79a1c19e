// The planners' input and output: buffers with known lifetimes, how they share bytes, and the plan
// that assigns offsets.
#ifndef ASHLAR_MEMORY_PROBLEM_BUFFER_H_
#define ASHLAR_MEMORY_PROBLEM_BUFFER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ashlar::memory {

// An allocation with a known lifetime.
struct Buffer {
  int64_t id = 0;         // the caller's name for it; need not be unique or dense
  int64_t lower = 0;      // first step at which it is live
  int64_t upper = 0;      // first step after its life; lifetimes are half-open
  int64_t size = 0;       // bytes; a buffer of zero bytes occupies nothing, even at a fixed offset
  int64_t alignment = 1;  // bytes, a power of two
  std::optional<int64_t> offset = std::nullopt;  // bytes, if the address is prescribed
};

// The relation "inner lies inside outer": inner's address is outer's address + offset. Both may
// hold the shared bytes at the same time: views, outputs that overwrite their input, and inputs
// written directly into a concatenation. With offset 0 and equal sizes, they must share.
struct Inside {
  int inner = 0;       // index into Problem::buffers
  int outer = 0;       // index into Problem::buffers
  int64_t offset = 0;  // bytes; offset + inner's size <= outer's size
};

// Dynamic storage allocation: assign an address to each buffer, in as few bytes as possible.
// Buffers that are live at the same step must not overlap, unless they are related by `inside`,
// directly or through others.
struct Problem {
  std::vector<Buffer> buffers;
  std::vector<Inside> inside;
};

// A solution of a Problem.
struct Plan {
  std::vector<int64_t> offsets;  // bytes, one for each buffer of the problem
  int64_t arena = 0;             // bytes: the highest end of a buffer with bytes
  std::string planner;           // name of the planner that found it
  // A lower bound in bytes that the planner itself proved; 0 if it proved nothing. An exhausted
  // search sets it to `arena`.
  int64_t proven_bound = 0;
};

// The limit of the sum of sizes, alignment gaps and prescribed offsets, so that planners can add
// without overflow checks.
inline constexpr int64_t kMaxBytes = int64_t{1} << 62;

// Adds up the bytes that kMaxBytes limits, buffer by buffer.
class TotalBytes {
 public:
  // InvalidArgument if this buffer exceeds the limit; the message does not name it.
  absl::Status Add(const Buffer& buffer);

 private:
  int64_t sum_ = 0;            // of sizes and the largest alignment gaps
  int64_t highest_fixed_ = 0;  // offset
};

// Checks one buffer: its lifetime must not be empty or reversed, nor size and offset negative. The
// alignment must be a power of two that divides the fixed offset. The message does not name the
// buffer.
absl::Status ValidateBuffer(const Buffer& buffer);

// Checks everything that planners rely on: each buffer, the total against kMaxBytes, and that
// relations are in bounds and the inner buffer is contained. InvalidArgument names the buffer.
// Contradictory relations are found later, by Instance::Create.
absl::Status ValidateProblem(const Problem& problem);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_BUFFER_H_
