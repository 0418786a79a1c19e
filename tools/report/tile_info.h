// The geometry of tiles as JSON, in the terms of tiled training: f_info and b_info.
#ifndef ASHLAR_TOOLS_REPORT_TILE_INFO_H_
#define ASHLAR_TOOLS_REPORT_TILE_INFO_H_

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_geometry.h"
#include "tools/json_output.h"

namespace ashlar {

// Returns one object a tile. "f_info": the regions that the tile computes and needs, from the last
// operator to the first, after an entry ("fake") for its own output. "b_info", for grids over the
// input: the regions that depend on the tile's input, from the first operator to the last, after an
// entry ("fake-bp") for that input.
//
// The keys of an entry:
//   coord       (row, column)
//   otileshape  (width, height) of the output
//   inpslidx    in f_info the region of the input, clipped to the image; in b_info the region of
//               the operator's output
//   padding     the region outside of the image
//   internal    the operator's padding without `padding`: neighbouring tiles supply it
//   realidx     the region before it is clipped
// Regions are left, right, top, bottom, with both ends; padding is empty if an operator has none.
Json TileInfo(const Graph& graph, absl::Span<const TiledPart> parts);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_TILE_INFO_H_
