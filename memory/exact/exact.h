// Exact search within a limit of work: runs both searches in turn, with capacities between the
// bound and the best plan.
#ifndef ASHLAR_MEMORY_EXACT_EXACT_H_
#define ASHLAR_MEMORY_EXACT_EXACT_H_

#include <cstdint>

#include "memory/problem/instance.h"
#include "memory/problem/solution.h"
#include "memory/problem/work.h"

namespace ashlar::memory {

// Improves `solution` by exact search. Stops when it reaches the lower bound or the wanted
// capacity, when nothing smaller exists, or when `work` reaches the limits. Stores the proven bound
// in proven_bound.
//
// Tries the lower bound first, because a tight capacity prunes most. Then it tries capacities below
// the best plan, in steps that double after a success and halve after a failure. The time of a
// single search varies by luck. Therefore many short searches with different branching share the
// work, in rounds with growing node limits. If alignments differ, some searches round sizes to the
// largest alignment. If ExactSearch is not complete, OrderSearch gets a share.
void ImproveByExactSearch(const Instance& instance, int64_t lower_bound, const SearchLimits& limits,
                          Work& work, Solution& solution);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_EXACT_H_
