// Recomputes vars of a step instead of saving them: the option `--recompute`.
#ifndef ASHLAR_TRAINING_RECOMPUTE_H_
#define ASHLAR_TRAINING_RECOMPUTE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/recompute_choice.h"
#include "graph/tiling/tile.h"

namespace ashlar {

struct RecomputeSpec {
  // Recompute vars that take a few operations an element: normalised values, activations, sums.
  bool cheap = false;
  struct Node {
    int id = 0;
    // Counted as in MadeAgain. kAnew: once, or, for vars of a few operations an element, for each
    // reader.
    uint8_t times = kAnew;
  };
  // Additionally recompute the outputs of `nodes`, and save the outputs of `kept`. Ids are of the
  // step's graph, or of the model, for all tiles of the node.
  std::vector<Node> nodes;
  std::vector<int> kept;

  bool empty() const { return !cheap && nodes.empty(); }
  // Formats as "none", "cheap" or "cheap,17,33:2,-40": 33 is recomputed twice, 40 is saved.
  std::string ToString() const;
};

// Parses the format of ToString; InvalidArgument if the text is malformed.
absl::StatusOr<RecomputeSpec> ParseRecompute(absl::string_view text);

// Whether a node's output is handed on from one tile to others (kHandedOn).
bool IsHandedOn(const OperatorNode& node, const PartsOfNodes& parts);

// Returns the id of the model's node that this node is a tile of, or its own id.
int IdOfWhole(const OperatorNode& node, const PartsOfNodes& parts);

// Returns CheapToMakeAgain without the vars that tiles hand on: saving these allows others to be
// freed.
MadeAgain CheapInStep(const Graph& graph, int loss, const PartsOfNodes& parts);

// Splits batch norms of the step into two nodes; the second can be recomputed.
absl::StatusOr<Graph> NormsInHalves(const Graph& step);

// Returns the step's graph with recomputed copies, in the order that they are planned for. If
// several orders are possible, chooses the one with the smallest arena. `step` has one output, the
// loss; `parts` is TrainingGraph::parts. InvalidArgument if a node is not on the way to the loss,
// or cannot be recomputed.
absl::StatusOr<Graph> RecomputeStep(const Graph& step, const RecomputeSpec& spec,
                                    const PartsOfNodes& parts = {});

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_H_
