// Exact search under a limit of time: both searches in turn, with capacities between the bound and
// the best plan.
#ifndef ASHLAR_MEMORY_EXACT_H_
#define ASHLAR_MEMORY_EXACT_H_

#include <cstdint>

#include "memory/instance.h"
#include "memory/planner.h"

namespace ashlar::memory {

// Improves `solution` by exact search, until it is as small as the lower bound
// or the wanted capacity, or nothing smaller exists, or `work` has
// spent what the limits allow. What was
// proved is in its proven_bound.
//
// Tries the bound itself first: the tighter the capacity, the more is pruned.
// Then capacities between the bound and the best plan, by halves. A single
// search is a gamble, so many short ones with different branching share the
// work, in rounds that allow each more nodes than the last. Where alignments differ, sizes rounded
// to the largest have a part of it; where ExactSearch is not complete,
// OrderSearch has its share.
void ImproveByExactSearch(const Instance& instance, int64_t lower_bound, const SearchLimits& limits,
                          Work& work, Solution& solution);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_H_
