// The tiled rewrite: computes segments of a graph region by region.
#ifndef ASHLAR_GRAPH_TILING_TILE_H_
#define ASHLAR_GRAPH_TILING_TILE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/operator_table.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar {

// Returns the graph with the segments of `spec` tiled. The result has ordinary operators on
// regions, Subtensor to read a region of a tensor, and Concat to join tiles. Nodes are in execution
// order. Within a tile, the operators follow `order` (nodes of `graph`, producers first; missing
// nodes come when they are needed).
//
// In segments cut by rows, NCHW16c images become NHCW16c, so that strips of rows are contiguous.
// This includes operators that add to such an image in place.
//
// `parts`, if given, gets the source node in `graph` of each tiled node.
//
// `adds_quantized`: whether quantised convolutions may join strips by integer sums, as the device
// computes them (Device::adds_quantized).
//
// InvalidArgument if a segment names no operators, or has more tiles than its output has rows or
// images. Also if it contains an operator that cannot compute a region of its output.
absl::StatusOr<Graph> Tile(const Graph& graph, const TileSpec& spec, absl::Span<const int> order,
                           const OperatorTable& operators, PartsOfNodes* parts = nullptr,
                           bool adds_quantized = true);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_H_
