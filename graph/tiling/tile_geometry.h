// Describes the geometry of a tiled graph, tile by tile and operator by operator.
#ifndef ASHLAR_GRAPH_TILING_TILE_GEOMETRY_H_
#define ASHLAR_GRAPH_TILING_TILE_GEOMETRY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/operator_table.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar {

// An operator in a tile.
struct TiledOperator {
  int node = 0;    // of the source graph
  Region output;   // the region that it computes
  Region input;    // the region of input 0 that it needs
  OperatorPtr op;  // the operator for exactly these regions: its padding is outside of the image
};

// The region of an operator's output that depends on a tile of a segment's input.
struct ReachedRegion {
  int node = 0;
  Region unclipped, clipped;
};

struct TiledPart {
  TileSegment segment;          // without inner segments
  int64_t row = 0, column = 0;  // of the grid; in other kinds, tiles are rows
  int outer = -1;               // the enclosing tile: index into the list
  Region output;                // the region that it computes of the segment's last operator
  Region input;                 // kInputGrid: its tile of the segment's input
  std::vector<TiledOperator> operators;  // in execution order
  std::vector<ReachedRegion> reached;    // kInputGrid: in the same order
};

// Returns all tiles in execution order. `adds_quantized`: as in Tile.
absl::StatusOr<std::vector<TiledPart>> DescribeTiles(const Graph& graph, const TileSpec& spec,
                                                     absl::Span<const int> order,
                                                     const OperatorTable& operators,
                                                     bool adds_quantized = true);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_GEOMETRY_H_
