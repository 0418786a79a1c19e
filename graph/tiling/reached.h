// The regions that depend on a part of a segment's input: receptive fields the other way round,
// operator by operator from the input on.
#ifndef ASHLAR_GRAPH_TILING_REACHED_H_
#define ASHLAR_GRAPH_TILING_REACHED_H_

#include "absl/status/statusor.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {

// By var, the region that depends on part `index` of `count` of the segment's input along `axis`,
// clipped to the var and never empty; `unclipped`, if not null, gets the same as it was.
// InvalidArgument where the input has no such axis, or an operator does not say what it reaches.
absl::StatusOr<Regions> ReachedRegions(RegionBuilder& builder, const FoundSegment& segment,
                                       int axis, int64_t index, int64_t count,
                                       Regions* unclipped = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_REACHED_H_
