// The geometry of a tiled graph, part by part and operator by operator.
#ifndef ASHLAR_GRAPH_TILING_TILE_GEOMETRY_H_
#define ASHLAR_GRAPH_TILING_TILE_GEOMETRY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/operator_table.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar {

// An operator in a part.
struct TiledOperator {
  int node = 0;    // of the graph before
  Region output;   // that it makes
  Region input;    // that it needs of its input 0
  OperatorPtr op;  // the operator on exactly these: its padding lies outside of the image
};

// The region of one operator's output that depends on a part of a segment's input.
struct ReachedRegion {
  int node = 0;
  Region unclipped, clipped;
};

struct TiledPart {
  TileSegment segment;                   // without inner segments
  int64_t row = 0, column = 0;           // of the grid; other kinds of parts are rows
  int outer = -1;                        // the part around it: index into the list
  Region output;                         // that it makes of the segment's last operator
  Region input;                          // kInputGrid: its part of the segment's input
  std::vector<TiledOperator> operators;  // in the order in which they run
  std::vector<ReachedRegion> reached;    // kInputGrid: in that order
};

// All parts in the order in which they run.
absl::StatusOr<std::vector<TiledPart>> DescribeTiles(const Graph& graph, const TileSpec& spec,
                                                     absl::Span<const int> order,
                                                     const OperatorTable& operators);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_GEOMETRY_H_
