// A lower bound on the arena: the largest sum of live bytes at any step (the load of an instance of
// dynamic storage allocation), by a sweep over births and deaths. The addition of gaps forced by
// alignment is our own.
#ifndef ASHLAR_MEMORY_PROBLEM_LOWER_BOUND_H_
#define ASHLAR_MEMORY_PROBLEM_LOWER_BOUND_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/problem/buffer.h"
#include "memory/problem/instance.h"

namespace ashlar::memory {

// Returns the live bytes of each section.
std::vector<int64_t> SectionLoads(const Instance& instance);
// Returns the live bytes of each section, counting these groups only.
std::vector<int64_t> SectionLoads(const Instance& instance, absl::Span<const int32_t> groups);

// The reason for the bound.
enum class BoundKind {
  kLiveness,     // the sum of live bytes at a step
  kAlignment,    // the sum plus the gaps that alignments force
  kFixedOffset,  // a prescribed address
};

// No plan needs fewer bytes.
struct LowerBound {
  int64_t bytes = 0;
  int64_t step = 0;  // the bottleneck: a step that needs this many
  BoundKind kind = BoundKind::kLiveness;
};

// Returns the largest sum of live bytes at a step, considering shared bytes. The bound is larger if
// alignments force gaps or fixed offsets reach higher. O(n + sections) for each distinct alignment.
LowerBound ComputeLowerBound(const Instance& instance);

// The bytes live from `step` until the step of the next entry.
struct LiveBytes {
  int64_t step = 0;
  int64_t bytes = 0;
};

// Returns the live bytes over time, one entry for each step at which a buffer is born or dies; the
// last has 0 bytes. Fails as Instance::Create does.
absl::StatusOr<std::vector<LiveBytes>> LiveProfile(const Problem& problem);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_LOWER_BOUND_H_
