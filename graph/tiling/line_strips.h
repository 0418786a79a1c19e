// Segments executed in strips of rows, each row computed once: rows that the next strip reads again
// are kept from one strip to the next (line buffers: Alwani et al. 2016, "Fused-Layer CNN
// Accelerators"; the schedule is tile_lines.h). They are copied to the place of the next strip:
// before the last that reads their strip or, where rows ebb (TileKind::kEbb) and it would not
// overwrite them, behind it, when the rest of the strip is gone.
#ifndef ASHLAR_GRAPH_TILING_LINE_STRIPS_H_
#define ASHLAR_GRAPH_TILING_LINE_STRIPS_H_

#include "absl/status/status.h"
#include "graph/tiling/part_builder.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {

// Makes `outputs`, regions of the segment's outputs by var, of the pieces in scope; they come into
// scope. InvalidArgument where the segment begins with no image, or is to have more strips than
// that has rows.
absl::Status AddLineStrips(PartBuilder& builder, const FoundSegment& segment,
                           const Regions& outputs, Scope& scope, const PartStyle& style);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_LINE_STRIPS_H_
