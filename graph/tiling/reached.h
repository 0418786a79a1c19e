// Finds the regions that depend on a slice of a segment's input: receptive fields in reverse,
// operator by operator from the input on.
#ifndef ASHLAR_GRAPH_TILING_REACHED_H_
#define ASHLAR_GRAPH_TILING_REACHED_H_

#include "absl/status/statusor.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {

// Returns for each var the region that depends on slice `index` of `count` of the segment's input
// along `axis`. It is clipped to the var and never empty; `unclipped`, if not null, gets the
// regions before clipping. InvalidArgument if the input has no such axis, or if an operator does
// not implement OutputRegion.
absl::StatusOr<Regions> ReachedRegions(RegionBuilder& builder, const FoundSegment& segment,
                                       int axis, int64_t index, int64_t count,
                                       Regions* unclipped = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_REACHED_H_
