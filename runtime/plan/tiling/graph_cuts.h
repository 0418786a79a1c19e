// Finds the cuts of a graph: tensors through which all data flows, at which tiled segments begin
// and end. One sweep over the order tracks the last reader of the tensors before the last cut.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_GRAPH_CUTS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_GRAPH_CUTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace ashlar {

// A var through which all data flows: later operators read no earlier var.
struct GraphCut {
  int var = 0;
  int position = 0;  // index in the order of the node that produces it
};

// Returns the cuts in the order `order`, the graph's input first; none if the graph has several
// inputs.
std::vector<GraphCut> FindCuts(const Graph& graph, absl::Span<const int> order);

// Returns the nodes between two cuts as a graph: its input is `from` for `images` images, its only
// output `to`. Formats are as in `graph`.
absl::StatusOr<Graph> GraphBetween(const Graph& graph, absl::Span<const int> order,
                                   const GraphCut& from, const GraphCut& to, int64_t images);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_GRAPH_CUTS_H_
