// Segments between other cuts than those first tried, for who wants the least.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_BORDERS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_BORDERS_H_

#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling_ways.h"

namespace ashlar {

// Looks at segments between cuts near those of the smallest tiling, with the batch split as in
// `smallest`; as long as there are new ones and few were looked at. Whether there were any.
bool MoveBorders(TilingWays& ways, const TileSpec& smallest);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_BORDERS_H_
