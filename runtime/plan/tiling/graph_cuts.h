// Finds the cuts of a graph: tensors through which all data flows, at which tiled segments begin
// and end. One sweep over the order tracks the last reader of the tensors before the last cut.
// Networks with skips (U-Net, feature pyramids) have few such tensors; they are also cut at several
// tensors, after the operators at which these take the fewest bytes.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_GRAPH_CUTS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_GRAPH_CUTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"

namespace ashlar {

// A var, or several, through which all data flows: later operators read no other earlier var.
struct GraphCut {
  int var = 0;
  int position = 0;            // index in the order; nothing after it is needed for the vars
  std::vector<int> also = {};  // the other vars

  std::vector<int> vars() const;
};

// Returns the cuts at single vars in the order `order`, the graph's input first; none if the graph
// has several inputs.
std::vector<GraphCut> FindCuts(const Graph& graph, absl::Span<const int> order);

// Returns these, and cuts at several images where single vars are far apart. The last has all
// outputs of the graph.
std::vector<GraphCut> FindWideCuts(const Graph& graph, absl::Span<const int> order);

// Returns by node whether no image depends on it, and it makes none: such as the decoding of a
// detector's boxes. Segments leave these nodes out.
std::vector<bool> NodesAfterImages(const Graph& graph);

// Returns the segment of the nodes that make images between two cuts, in one strip. It begins at
// the vars of `from` that these nodes read, and ends at the vars that only other nodes read.
TileSegment SegmentBetween(const Graph& graph, absl::Span<const int> order, const GraphCut& from,
                           const GraphCut& to);

// Returns the nodes between two cuts as a graph: its inputs are the vars of `from` for `images`
// images, its outputs the outputs of the graph among these nodes, then the other vars of `to`.
// Formats are as in `graph`.
absl::StatusOr<Graph> GraphBetween(const Graph& graph, absl::Span<const int> order,
                                   const GraphCut& from, const GraphCut& to, int64_t images);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_GRAPH_CUTS_H_
