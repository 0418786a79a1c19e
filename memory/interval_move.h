// The planner INTERVAL_MOVE, after MegEngine's
// src/core/impl/graph/var_node_mem_mgr/static_mem_alloc/interval_move.cpp, but here the gap that
// raises the peak least wins, then the one that wastes or shoves least, while MegEngine's takes any
// gap that fits before it shoves.
#ifndef ASHLAR_MEMORY_INTERVAL_MOVE_H_
#define ASHLAR_MEMORY_INTERVAL_MOVE_H_

#include <cstdint>
#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// Good and slow, O(n * pairs live together). Groups
// come by longer life, earlier birth, larger size. Each goes into the gap that
// raises the peak least, then wastes or shoves least; what is in its way moves
// up, and so on upwards. Groups count as their hulls; all go above those with a
// fixed offset. Returns one base for each group.
std::vector<int64_t> PlaceIntervalMove(const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_INTERVAL_MOVE_H_
