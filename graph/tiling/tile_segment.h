// Finds the segments of a TileSpec in a graph: the nodes on paths between its ends, by a forward
// and a backward sweep. A depth-first topological sort orders the groups of nodes and detects
// circles.
#ifndef ASHLAR_GRAPH_TILING_TILE_SEGMENT_H_
#define ASHLAR_GRAPH_TILING_TILE_SEGMENT_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar {

struct FoundSegment;

// The operators in execution order, each alone or in a segment.
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
  std::vector<int> nodes;          // in execution order
  std::vector<int> outputs;        // vars that are read outside of it
  std::vector<int> inputs;         // the vars at its start
  absl::flat_hash_set<int> again;  // vars that are computed again (TileSegment::again)
  TileItems parts;                 // of one tile
};

// `nodes`: producers first. InvalidArgument if a segment is not within `nodes`, overlaps another,
// or depends on its own results.
absl::StatusOr<TileItems> FindSegments(const Graph& graph, absl::Span<const TileSegment> segments,
                                       absl::Span<const int> nodes);

// Returns all nodes of `graph`: the nodes of `order` in that order, and each other node before its
// first reader.
std::vector<int> CompleteOrder(const Graph& graph, absl::Span<const int> order);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_SEGMENT_H_
