// The tiled rewrite: parts of a graph executed region by region.
#ifndef ASHLAR_GRAPH_TILING_TILE_H_
#define ASHLAR_GRAPH_TILING_TILE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/operator_table.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar {

// The graph with the segments of `spec` tiled: ordinary operators on regions, with
// Subtensor where they read a part of a tensor and Concat where parts become one. Its nodes stand
// in the order in which they are to run, which for the operators of one part is that of `order`
// (nodes of `graph`, producers first; nodes that are missing come when they are needed).
//
// Images in NCHW16c are made in NHCW16c inside of segments that are cut by rows, so that strips of
// rows are contiguous; so is an operator that adds to such an image in place.
//
// `parts`, if given, becomes what stands in tiles for which node of `graph`.
//
// InvalidArgument where a segment names no operators, its parts are more than its output has rows
// or images, or an operator in it needs more than a part of its input.
absl::StatusOr<Graph> Tile(const Graph& graph, const TileSpec& spec, absl::Span<const int> order,
                           const OperatorTable& operators, PartsOfNodes* parts = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_H_
