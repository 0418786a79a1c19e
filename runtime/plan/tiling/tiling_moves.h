// Steps from one tiling to neighbouring tilings, for local search.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_MOVES_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_MOVES_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/tiling/tiling_search.h"

namespace ashlar {

// Returns tilings that differ from `tiling` (one of `found`, or a result of this function) by one
// inserted segment. Segments that it overlaps are removed; the rest of their ranges uses the
// smallest options. So segments change their kind, grow, shrink and disappear.
//
// Returns only tilings that are expected to need less than `bytes` and to recompute at most
// `max_extra_flops`. The most promising come first: for each range of the graph the change that
// leaves the most room, then for each the next one. Empty if a segment of `tiling` was never tried.
std::vector<Tiling> TilingsNear(const FoundTilings& found, const Tiling& tiling, int64_t bytes,
                                double max_extra_flops);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_MOVES_H_
