// The vars of a step that are made a second time instead of kept: `--recompute`.
#ifndef ASHLAR_TRAINING_RECOMPUTE_H_
#define ASHLAR_TRAINING_RECOMPUTE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace ashlar {

struct RecomputeSpec {
  // What takes a few operations an element: normalised values, activations, sums.
  bool cheap = false;
  // Besides, what these nodes make, and not what those do: ids in the graph of the step.
  std::vector<int> nodes, kept;

  bool empty() const { return !cheap && nodes.empty(); }
  std::string ToString() const;  // "none", "cheap", "cheap,17,33,-40": 40 is kept
};

// InvalidArgument where the text is not as ToString writes it.
absl::StatusOr<RecomputeSpec> ParseRecompute(absl::string_view text);

// The step's graph with batch norms in two halves, of which the second can be made again.
absl::StatusOr<Graph> NormsInHalves(const Graph& step);

// The step's graph with copies, in the order that they are made for; of several such graphs the one
// that needs the least arena in that order. `step` has one output, the loss. InvalidArgument where
// a node is none of the graph's on the way to the loss, or cannot be made again.
absl::StatusOr<Graph> RecomputeStep(const Graph& step, const RecomputeSpec& spec);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_H_
