// Planners that take groups in the order of birth, as a run-time allocator would. One never reuses
// bytes. The other is best fit (Knuth, The Art of Computer Programming, volume 1, section 2.5),
// modelled on MegEngine's src/core/impl/graph/var_node_mem_mgr/static_mem_alloc/best_fit.cpp.
#ifndef ASHLAR_MEMORY_HEURISTICS_ONLINE_H_
#define ASHLAR_MEMORY_HEURISTICS_ONLINE_H_

#include <cstdint>
#include <vector>

#include "memory/problem/instance.h"

namespace ashlar::memory {

// Each returns one base per group. Groups with a fixed offset stay there; all others go above them.

// Places the groups one after the other, without reuse.
std::vector<int64_t> PlaceNaive(const Instance& instance);

// Simulates a run-time allocator with a best-fit free list: takes the smallest free block that
// fits, otherwise extends the top. MegEngine's BEST_FIT.
std::vector<int64_t> PlaceBestFit(const Instance& instance);

// Returns the groups without a fixed base, sorted by (begin, index). Groups born together keep the
// order of the problem, as in MegEngine.
std::vector<int32_t> FreeGroupsByBirth(const Instance& instance);
// Returns a multiple of every alignment, at or above the end of every fixed group.
int64_t AboveFixed(const Instance& instance);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_ONLINE_H_
