// Limits the memory of packed weights by the choice of kernels.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_LIMIT_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_LIMIT_H_

#include <cstdint>
#include <limits>

#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/time_estimate.h"

namespace ashlar {

// Bytes of packed weights.
struct WeightLimits {
  int64_t all = std::numeric_limits<int64_t>::max();
  // Limit on weights that are needed at once, in the order of the graph: tiles need the weights of
  // all their operators from the first tile to the last.
  int64_t at_once = std::numeric_limits<int64_t>::max();
};

// Removes candidates until the packed weights take at most so many bytes, or as few as possible.
// Greedy, constant by constant: takes the smaller weights that cost the least time per byte.
// Weights that no kernel packs are not counted.
void LimitWeights(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed,
                  const WeightLimits& limits, KernelCandidates& candidates);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_LIMIT_H_
