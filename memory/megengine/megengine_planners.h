// Planners modelled on MegEngine's (src/core/impl/graph/var_node_mem_mgr/static_mem_alloc):
// - PUSHDOWN follows pushdown.cpp. Unlike MegEngine's, its simulation of blocks rounds sizes to
//   alignments.
// - INTERVAL_MOVE follows interval_move.cpp. Here the gap that raises the peak least wins, then the
//   gap that wastes or shifts least. MegEngine's takes any gap that fits before it shifts.
#ifndef ASHLAR_MEMORY_MEGENGINE_MEGENGINE_PLANNERS_H_
#define ASHLAR_MEMORY_MEGENGINE_MEGENGINE_PLANNERS_H_

#include <cstdint>
#include <vector>

#include "memory/problem/instance.h"

namespace ashlar::memory {

// In both, groups count as their hulls, and all go above groups with a fixed offset. They return
// one base per group.

// MegEngine's default planner; O(n log n). First, a best-fit allocation over blocks without
// addresses decides which group lies below which; it grows the largest free block if none fits.
// Then every group sinks to the lowest aligned address above the ends of the groups below it.
std::vector<int64_t> PlacePushdown(const Instance& instance);

// Good and slow, O(n * pairs live together). Orders groups by longer life, earlier birth, larger
// size. Each goes into the gap that raises the peak least, then wastes or shifts least. Groups in
// its way move up, and push others up in turn.
std::vector<int64_t> PlaceIntervalMove(const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_MEGENGINE_MEGENGINE_PLANNERS_H_
