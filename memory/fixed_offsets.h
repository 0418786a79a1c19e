// Fixed offsets that contradict each other.
#ifndef ASHLAR_MEMORY_FIXED_OFFSETS_H_
#define ASHLAR_MEMORY_FIXED_OFFSETS_H_

#include <optional>

#include "memory/buffer.h"
#include "memory/instance.h"

namespace ashlar::memory {

// Two buffers, by index, that overlap where the problem's own fixed offsets put
// them, so that there is no plan.
struct FixedConflict {
  int first = 0;
  int second = 0;
};
// `instance`: of the problem.
std::optional<FixedConflict> FindFixedConflict(const Problem& problem, const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_FIXED_OFFSETS_H_
