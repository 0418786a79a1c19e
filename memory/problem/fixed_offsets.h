// Finds contradictory fixed offsets.
#ifndef ASHLAR_MEMORY_PROBLEM_FIXED_OFFSETS_H_
#define ASHLAR_MEMORY_PROBLEM_FIXED_OFFSETS_H_

#include <optional>

#include "memory/problem/buffer.h"
#include "memory/problem/instance.h"

namespace ashlar::memory {

// Two buffers, by index, that overlap at the problem's fixed offsets, so that no plan exists.
struct FixedConflict {
  int first = 0;
  int second = 0;
};
// `instance` must be created from `problem`.
std::optional<FixedConflict> FindFixedConflict(const Problem& problem, const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_FIXED_OFFSETS_H_
