// Where a graph hangs together by one tensor, at which tiled segments begin and end: found in one
// sweep over the order, which keeps how far what was made before the last cut is still read.
#ifndef ASHLAR_RUNTIME_PLAN_GRAPH_CUTS_H_
#define ASHLAR_RUNTIME_PLAN_GRAPH_CUTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace ashlar {

// A var that is all that later operators read of the vars before.
struct GraphCut {
  int var = 0;
  int position = 0;  // in the order: that of the node that makes it
};

// In the order of `order`, the graph's input first. Empty where there are several inputs.
std::vector<GraphCut> FindCuts(const Graph& graph, absl::Span<const int> order);

// The nodes between two cuts as a graph of its own: its input is `from` for `images` images, its
// only output `to`. Formats are as in `graph`.
absl::StatusOr<Graph> GraphBetween(const Graph& graph, absl::Span<const int> order,
                                   const GraphCut& from, const GraphCut& to, int64_t images);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_GRAPH_CUTS_H_
