// A step's way to the loss in stages, and in each the vars that may be kept or made again.
#ifndef ASHLAR_TRAINING_RECOMPUTE_STAGES_H_
#define ASHLAR_TRAINING_RECOMPUTE_STAGES_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/recompute.h"
#include "graph/recompute_order.h"
#include "graph/tiling/tile.h"

namespace ashlar {

struct RecomputeChoice {
  int var = 0;  // of several in tiles, the last
  // What goes with them where they are made again: themselves, and the vars that they are made of
  // and that nobody keeps.
  std::vector<int> with;
  bool is_sum = false;  // of what is made again: kept, it ends the chain of sums in front of it
};

struct RecomputeStage {
  std::vector<RecomputeChoice> choices;
  // The one var that nodes of later stages read of all that is made so far; -1 where they read
  // more.
  int end = -1;
  // Places behind the loss where gradients of this stage are made: half-open, as
  // OrderMaker::nodes_behind counts.
  size_t window_begin = 0, window_end = 0;
};

struct RecomputeStages {
  std::vector<RecomputeStage> stages;
  std::vector<int> stage_of;  // by var; -1: not made on the way to the loss
  MadeAgain cheap;            // CheapInStep, from which choices differ
};

// Stages end at single tensors, and have a choice at least and `most` at most. `graph` as
// NormsInHalves makes it, `parts` as TrainingGraph has them.
RecomputeStages FindStages(const Graph& graph, int loss, const OrderMaker& maker, size_t most,
                           const PartsOfNodes& parts);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_STAGES_H_
