// Segments of a TileSpec, found in a graph: the nodes on the ways between two, by a sweep forwards
// and one backwards; groups of nodes are put in order by depth-first topological sorting, which
// finds circles.
#ifndef ASHLAR_GRAPH_TILING_TILE_SEGMENT_H_
#define ASHLAR_GRAPH_TILING_TILE_SEGMENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar {

struct FoundSegment;

// Operators in the order in which they run, each alone or as one of a segment.
struct TileItem {
  int node = -1;     // index into Graph::nodes(), or
  int segment = -1;  // index into TileItems::segments
};

struct TileItems {
  std::vector<TileItem> items;
  std::vector<FoundSegment> segments;
};

struct FoundSegment {
  TileSegment spec;
  std::vector<int> nodes;    // in the order in which they run
  std::vector<int> outputs;  // vars that are read outside of it
  int input = 0;             // the var that it begins with
  TileItems parts;           // of one part
};

// `nodes`: producers first. InvalidArgument where a segment is no part of them, overlaps another,
// or needs what follows from it.
absl::StatusOr<TileItems> FindSegments(const Graph& graph, absl::Span<const TileSegment> segments,
                                       absl::Span<const int> nodes);

// All nodes of `graph`, nodes of `order` in that order and the others before the first that reads
// them.
std::vector<int> CompleteOrder(const Graph& graph, absl::Span<const int> order);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_SEGMENT_H_
