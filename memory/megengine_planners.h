// The planners after MegEngine's (src/core/impl/graph/var_node_mem_mgr/static_mem_alloc):
// PUSHDOWN after pushdown.cpp, but its simulation of blocks rounds sizes to alignments, which
// MegEngine's ignores; INTERVAL_MOVE after interval_move.cpp, but here the gap that raises the peak
// least wins, then the one that wastes or shoves least, while MegEngine's takes any gap that fits
// before it shoves.
#ifndef ASHLAR_MEMORY_MEGENGINE_PLANNERS_H_
#define ASHLAR_MEMORY_MEGENGINE_PLANNERS_H_

#include <cstdint>
#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// Of both, groups count as their hulls; all go above those with a fixed offset. They return one
// base for each group.

// MegEngine's default planner; O(n log n). A best-fit allocation over blocks without addresses,
// which grows the largest free block where none fits, only tells who lies below whom. Then every
// group sinks to the lowest aligned address above the ends of those under it.
std::vector<int64_t> PlacePushdown(const Instance& instance);

// Good and slow, O(n * pairs live together). Groups come by longer life, earlier birth, larger
// size. Each goes into the gap that raises the peak least, then wastes or shoves least; what is in
// its way moves up, and so on upwards.
std::vector<int64_t> PlaceIntervalMove(const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_MEGENGINE_PLANNERS_H_
