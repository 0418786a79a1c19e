// How long a graph will take, by arithmetic and traffic; the search for tiles compares plans
// with.
#ifndef ASHLAR_RUNTIME_PLAN_TIME_ESTIMATE_H_
#define ASHLAR_RUNTIME_PLAN_TIME_ESTIMATE_H_

#include <optional>

#include "graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/plan/kernel_record.h"
#include "runtime/plan/means.h"
#include "runtime/plan/wishes.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// The rates of a processor in a millisecond, on all threads.
struct ProcessorSpeed {
  double flops = 1e7;         // of a convolution that keeps it busy
  double second_level = 6e7;  // bytes read from or written to the second-level caches
  double third_level = 2e7;   // and the memory behind them, which the threads share
  double memory = 1e7;
  double second_level_bytes = 1 << 20;
  double kernel_ms = 0.003;  // to begin a kernel
};

// Of the device's own processor, where no other is given: as measured, where `record`, which may be
// null, has that for so many threads, else by a table.
ProcessorSpeed SpeedOf(const Device& device, const std::optional<Processor>& processor, int threads,
                       const KernelRecord* record = nullptr);
inline ProcessorSpeed SpeedOf(const Device& device, const Wishes& wishes, const Means& means) {
  return SpeedOf(device, wishes.processor, wishes.threads, means.record.get());
}

// Milliseconds of one operator, of whose images only a share is computed.
double EstimateOperator(const Graph& graph, const StorageModel& model, int node,
                        const ProcessorSpeed& speed, double share = 1);

// Milliseconds of one run.
double EstimateTime(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TIME_ESTIMATE_H_
