// Divides the forward pass of a step into stages, and finds in each the vars to save or recompute.
#ifndef ASHLAR_TRAINING_RECOMPUTE_STAGES_H_
#define ASHLAR_TRAINING_RECOMPUTE_STAGES_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/recompute_choice.h"
#include "graph/recompute_order.h"
#include "graph/tiling/tile.h"

namespace ashlar {

struct RecomputeChoice {
  int var = 0;  // of several tiles, the last
  // All vars that are recomputed with this choice: the var itself (every tile of it), and its
  // unsaved inputs, transitively.
  std::vector<int> with;
  bool is_sum = false;  // a sum of recomputed vars: saving it ends the chain of sums before it
};

struct RecomputeStage {
  std::vector<RecomputeChoice> choices;
  // The only var made so far that nodes of later stages read; -1 if they read several.
  int end = -1;
  // The range of positions after the loss that computes the gradients of this stage: half-open, in
  // the order of OrderMaker::nodes_behind.
  size_t window_begin = 0, window_end = 0;
};

struct RecomputeStages {
  std::vector<RecomputeStage> stages;
  std::vector<int> stage_of;  // by var; -1: not in the forward pass
  MadeAgain cheap;            // CheapInStep: the default that choices change
};

// Divides `graph` into stages that end at single tensors and have between 1 and `most` choices.
// `graph` comes from NormsInHalves, `parts` from TrainingGraph.
RecomputeStages FindStages(const Graph& graph, int loss, const OrderMaker& maker, size_t most,
                           const PartsOfNodes& parts);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_STAGES_H_
