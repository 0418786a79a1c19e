// Recomputes forward vars in the backward pass instead of saving them, so that a training step
// needs less memory (Griewank and Walther 2008, "Evaluating Derivatives", chapter 12; Chen et al.
// 2016, "Training Deep Nets with Sublinear Memory Cost").
#ifndef ASHLAR_GRAPH_RECOMPUTE_H_
#define ASHLAR_GRAPH_RECOMPUTE_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/recompute_choice.h"

namespace ashlar {

// Returns the graph in another order, with copies. The nodes that `loss` depends on come first.
// After them, a reader of a var in `again` reads a copy that is computed just before, from saved
// vars and other copies. A copy that does not stay serves readers that follow within `reach` nodes.
// State updates follow directly after the nodes they wait for. Values are identical to the last bit
// if the choice of a kernel depends on its operator only.
absl::StatusOr<Graph> Recompute(const Graph& graph, int loss, const MadeAgain& again, int reach);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_RECOMPUTE_H_
