// Chooses the vars to recompute for a limit of memory: dynamic programming over stages.
#ifndef ASHLAR_TRAINING_RECOMPUTE_NESTED_H_
#define ASHLAR_TRAINING_RECOMPUTE_NESTED_H_

#include <vector>

#include "training/recompute_trials.h"

namespace ashlar {

// Returns the masks of fewest operations (at most `most`) for each of a series of memory limits.
// Limits begin at the peak with all cheap vars recomputed and fall until no solution is found.
// Deterministic.
std::vector<StageMasks> NestedSearch(RecomputeTrials& trials, double most);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_NESTED_H_
