// Detects periodic problems, such as images computed one after the other, and plans one period (a
// round). Rounds are found by shapes that occur equally often at equal distances. Time is then
// folded so that all rounds coincide with the first.
#ifndef ASHLAR_MEMORY_HEURISTICS_ROUNDS_H_
#define ASHLAR_MEMORY_HEURISTICS_ROUNDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/problem/instance.h"

namespace ashlar::memory {

// One round; groups that live beside any round live in it too.
struct FoldedInstance {
  Instance instance;
  int64_t lower_bound = 0;         // in bytes, of `instance`: at least the bound of the whole
  std::vector<int32_t> folded_of;  // by group of the whole: the group of `instance`

  // Returns the bases of the whole's groups; valid if `bases` are valid for `instance`.
  std::vector<int64_t> Unfold(const std::vector<int64_t>& bases) const;
};

// Returns nullopt if folding removes less than a third of the groups. Also if one round needs
// noticeably more than the whole, whose bound is `lower_bound`.
std::optional<FoldedInstance> FoldRounds(const Instance& instance, int64_t lower_bound);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_ROUNDS_H_
