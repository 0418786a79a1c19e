// Groups that come again in rounds, as the tensors of images do that are computed one after the
// other: such problems are planned as one round. Rounds are found by the shapes that come equally
// often at equal distances; time is then folded such that all rounds lie on the first.
#ifndef ASHLAR_MEMORY_ROUNDS_H_
#define ASHLAR_MEMORY_ROUNDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// One round, in which whatever lives beside any round lives.
struct FoldedInstance {
  Instance instance;
  int64_t lower_bound = 0;         // bytes, of this one: as large as that of the whole, or larger
  std::vector<int32_t> folded_of;  // by group of the whole: the group of `instance`

  // Bases of groups of the whole, valid where `bases` are for `instance`.
  std::vector<int64_t> Unfold(const std::vector<int64_t>& bases) const;
};

// nullopt where less than a third of the groups would be folded away, or where all that is put on
// one round needs noticeably more than the whole, whose bound is `lower_bound`.
std::optional<FoldedInstance> FoldRounds(const Instance& instance, int64_t lower_bound);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_ROUNDS_H_
