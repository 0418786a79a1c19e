// Steps from one tiling to others near it, for local search.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_MOVES_H_
#define ASHLAR_RUNTIME_PLAN_TILING_MOVES_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/tiling_search.h"

namespace ashlar {

// Tilings that differ from `tiling` (one of `found`, or from here) by one segment put in, for which
// those that it overlaps give way: what remains of them is executed as it needs least. So segments
// change their kind, grow, shrink, and go. Only such that are expected to need less than `bytes`
// and to compute no more again than `max_extra_flops`. The most promising first: of each part of
// the graph the change that leaves most room, then of each the next. Empty where `tiling` is made
// of other segments than were tried.
std::vector<Tiling> TilingsNear(const FoundTilings& found, const Tiling& tiling, int64_t bytes,
                                double max_extra_flops);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_MOVES_H_
