// Moves segment boundaries to other cuts than the first ones, when searching for the smallest plan.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_BORDERS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_BORDERS_H_

#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling/tiling_ways.h"

namespace ashlar {

// Tries segments between cuts near the smallest tiling's boundaries, with the batch split as in
// `smallest`. Repeats while there are new ones and a limit of operators is not reached. Returns
// whether there were any.
bool MoveBorders(TilingWays& ways, const TileSpec& smallest);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_BORDERS_H_
