// Planners that take groups in the order of their birth, as an allocator at run time would: one
// without reuse, and best fit (Knuth, The Art of Computer Programming, volume 1, section 2.5),
// after MegEngine's src/core/impl/graph/var_node_mem_mgr/static_mem_alloc/best_fit.cpp.
#ifndef ASHLAR_MEMORY_ONLINE_H_
#define ASHLAR_MEMORY_ONLINE_H_

#include <cstdint>
#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// The planners that take groups in the order of their birth. Each returns one
// base for each group. Groups with a fixed offset stay there and all others go
// above them.

// No reuse: one after the other.
std::vector<int64_t> PlaceNaive(const Instance& instance);

// What an allocator with a best-fit free list would do at run time: take the
// smallest free block that fits, else extend the top. MegEngine's BEST_FIT.
std::vector<int64_t> PlaceBestFit(const Instance& instance);

// The groups without a fixed base, by (begin, index): those that are born together
// come as the problem has them, as in MegEngine.
std::vector<int32_t> FreeGroupsByBirth(const Instance& instance);
// A multiple of every alignment, at or above the end of every fixed group.
int64_t AboveFixed(const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_ONLINE_H_
