// The planner PUSHDOWN, after MegEngine's
// src/core/impl/graph/var_node_mem_mgr/static_mem_alloc/pushdown.cpp, but its simulation of blocks
// rounds sizes to alignments, which MegEngine's ignores.
#ifndef ASHLAR_MEMORY_PUSHDOWN_H_
#define ASHLAR_MEMORY_PUSHDOWN_H_

#include <cstdint>
#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// MegEngine's default planner; O(n log n). A best-fit allocation over blocks
// without addresses, which grows the largest free block where none fits, only
// tells who lies below whom. Then every group sinks to the lowest aligned
// address above the ends of those under it. Groups count as their hulls; all
// go above those with a fixed offset. Returns one base for each group.
std::vector<int64_t> PlacePushdown(const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PUSHDOWN_H_
