// Limits the memory of packed weights by the choice of kernels.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_LIMIT_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_LIMIT_H_

#include <cstdint>

#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/time_estimate.h"

namespace ashlar {

// Removes candidates until the packed weights together take at most `most` bytes, or as few as
// possible. Greedy, constant by constant: takes the smaller weights that cost the least time per
// byte. Weights that no kernel packs are not counted.
void LimitWeights(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed,
                  int64_t most, KernelCandidates& candidates);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_LIMIT_H_
