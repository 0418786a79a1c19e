// Kernels by the bytes of their weights: which of them to give up for memory.
#ifndef ASHLAR_RUNTIME_PLAN_WEIGHT_LIMIT_H_
#define ASHLAR_RUNTIME_PLAN_WEIGHT_LIMIT_H_

#include <cstdint>

#include "runtime/plan/kernel_choice.h"
#include "runtime/plan/time_estimate.h"

namespace ashlar {

// Leaves the candidates whose packed weights take `most` bytes together, or as few as can
// be: greedily, constant by constant, smaller weights where they cost the least time a byte.
// Weights that no kernel packs are not counted.
void LimitWeights(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed,
                  int64_t most, KernelCandidates& candidates);

// Milliseconds of one run with these kernels, null where nothing runs: by what each operator is
// expected to take and the time of its kernel over the best one's.
double EstimateKernels(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed,
                       const std::vector<std::shared_ptr<const Kernel>>& kernels);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_WEIGHT_LIMIT_H_
