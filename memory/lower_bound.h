// What no plan can be smaller than: the largest sum of live bytes (the load of an instance of
// dynamic storage allocation), found by a sweep over births and deaths, with the gaps that
// alignment forces, which is a bound of our own.
#ifndef ASHLAR_MEMORY_LOWER_BOUND_H_
#define ASHLAR_MEMORY_LOWER_BOUND_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/buffer.h"
#include "memory/instance.h"

namespace ashlar::memory {

// For each section the bytes that are live in it.
std::vector<int64_t> SectionLoads(const Instance& instance);
// The same, of these groups alone.
std::vector<int64_t> SectionLoads(const Instance& instance, absl::Span<const int32_t> groups);

// What forces so many bytes.
enum class BoundKind {
  kLiveness,     // The sum of what is live at a step.
  kAlignment,    // That sum and the gaps that alignments leave in it.
  kFixedOffset,  // A prescribed address.
};

// No plan needs fewer bytes than this.
struct LowerBound {
  int64_t bytes = 0;
  int64_t step = 0;  // The bottleneck: a step that needs so many.
  BoundKind kind = BoundKind::kLiveness;
};

// The largest sum of live bytes at a step, sharing taken into account, made
// stronger where alignments force gaps and where fixed offsets reach higher.
// O(n + sections) for each distinct alignment.
LowerBound ComputeLowerBound(const Instance& instance);

// Bytes live from `step` until the step of the next entry.
struct LiveBytes {
  int64_t step = 0;
  int64_t bytes = 0;
};

// The live bytes over time, one entry for each step at which a buffer is born
// or dies; the last one has 0 bytes. Fails as Instance::Create does.
absl::StatusOr<std::vector<LiveBytes>> LiveProfile(const Problem& problem);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_LOWER_BOUND_H_
