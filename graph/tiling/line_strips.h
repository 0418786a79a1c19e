// Segments run in strips of rows. Rows that the next strip reads again are kept from strip to strip
// (line buffers: Alwani et al. 2016, "Fused-Layer CNN Accelerators"; the schedule is in
// tile_lines.h), or computed again (TileSegment::again). They are copied to the place of the next
// strip before the last reader of their strip. With rolling lines (TileKind::kRolling) they are
// copied after that reader, when the rest of the strip is freed, unless the reader would overwrite
// them.
#ifndef ASHLAR_GRAPH_TILING_LINE_STRIPS_H_
#define ASHLAR_GRAPH_TILING_LINE_STRIPS_H_

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/tiling/part_builder.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {

struct LineStrips {
  std::map<int, std::vector<Piece>> outputs;  // by var, from the first row to the last
  int64_t bytes = 0;  // the most that kept rows and two operators' strips beside them take
};

// Computes `outputs`, regions of the segment's outputs by var, from the pieces in scope.
// InvalidArgument if the segment does not begin with an image, or has more strips than the image
// has rows.
absl::StatusOr<LineStrips> AddLineStrips(PartBuilder& builder, const FoundSegment& segment,
                                         const Regions& outputs, const Scope& scope,
                                         const PartStyle& style);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_LINE_STRIPS_H_
