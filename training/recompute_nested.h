// Which choices of stages are made again for a limit of memory: dynamic programming over stages.
#ifndef ASHLAR_TRAINING_RECOMPUTE_NESTED_H_
#define ASHLAR_TRAINING_RECOMPUTE_NESTED_H_

#include <vector>

#include "training/recompute_trials.h"

namespace ashlar {

// For limits of memory from what it takes with all cheap vars made again down to where nothing is
// found: for each the masks of fewest operations, of at most `most` operations. Deterministic.
std::vector<StageMasks> NestedSearch(RecomputeTrials& trials, double most);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_NESTED_H_
