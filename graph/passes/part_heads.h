// Joins the heads of detectors kind by kind: exporters join the boxes and classes of each scale,
// then the scales, and split the result into all boxes and all classes.
#ifndef ASHLAR_GRAPH_PASSES_PART_HEADS_H_
#define ASHLAR_GRAPH_PASSES_PART_HEADS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/operator_table.h"

namespace ashlar {

// Replaces split(concat(reshape(concat(box, classes)), ...)) by the concatenations of reshaped
// boxes, and of reshaped classes: the elements of all scales are not joined twice, and the boxes of
// all scales can be used up before the classes exist. For graphs that are tiled, before all passes.
absl::StatusOr<Graph> PartHeads(const Graph& graph, const OperatorTable& operators);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PASSES_PART_HEADS_H_
