// The vars of a step that are made again instead of kept: `--recompute`.
#ifndef ASHLAR_TRAINING_RECOMPUTE_H_
#define ASHLAR_TRAINING_RECOMPUTE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/recompute.h"
#include "graph/tiling/tile.h"

namespace ashlar {

struct RecomputeSpec {
  // What takes a few operations an element: normalised values, activations, sums.
  bool cheap = false;
  struct Node {
    int id = 0;
    // As MadeAgain counts; kAnew: once, or what takes a few operations an element for each reader.
    uint8_t times = kAnew;
  };
  // Besides, what these nodes make, and not what those do: ids in the graph of the step, or in the
  // model, for all tiles of it.
  std::vector<Node> nodes;
  std::vector<int> kept;

  bool empty() const { return !cheap && nodes.empty(); }
  // "none", "cheap", "cheap,17,33:2,-40": 33 is made again twice, 40 is kept.
  std::string ToString() const;
};

// InvalidArgument where the text is not as ToString writes it.
absl::StatusOr<RecomputeSpec> ParseRecompute(absl::string_view text);

// Whether a node makes what tiles leave to others (kHandedOn).
bool IsHandedOn(const OperatorNode& node, const PartsOfNodes& parts);

// The id of a node, or of the node of the model that it makes a part of.
int IdOfWhole(const OperatorNode& node, const PartsOfNodes& parts);

// CheapToMakeAgain but for what tiles hand on: it is there so that the rest may go.
MadeAgain CheapInStep(const Graph& graph, int loss, const PartsOfNodes& parts);

// The step's graph with batch norms in two halves, of which the second can be made again.
absl::StatusOr<Graph> NormsInHalves(const Graph& step);

// The step's graph with copies, in the order that they are made for; of several such graphs the one
// that needs the least arena in that order. `step` has one output, the loss; `parts` as
// TrainingGraph has them. InvalidArgument where a node is none of the graph's on the way to the
// loss, or cannot be made again.
absl::StatusOr<Graph> RecomputeStep(const Graph& step, const RecomputeSpec& spec,
                                    const PartsOfNodes& parts = {});

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_H_
