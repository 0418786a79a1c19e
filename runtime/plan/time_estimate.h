// How long a graph will take, by arithmetic and traffic: what the search for tiles compares plans
// with.
#ifndef ASHLAR_RUNTIME_PLAN_TIME_ESTIMATE_H_
#define ASHLAR_RUNTIME_PLAN_TIME_ESTIMATE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// What a processor does in a millisecond.
struct ProcessorSpeed {
  double flops = 1e8;         // of a convolution that keeps it busy, on all threads
  double cache_bytes = 2e7;   // copied within the caches
  double memory_bytes = 1e7;  // read from memory
  double kernel_ms = 0.003;   // to begin a kernel
};

// Of the device's own processor, where no other is given: measured with a convolution, some tens of
// milliseconds, spent once a process and number of threads. Of a given one, and on a device with
// memory of its own, not measured: that of its kind.
absl::StatusOr<ProcessorSpeed> SpeedOf(Device& device, const std::optional<Processor>& processor,
                                       int threads);

// Milliseconds of one operator, of whose images only a share is computed.
double EstimateOperator(const Graph& graph, const StorageModel& model, int node,
                        const ProcessorSpeed& speed, double share = 1);

// Milliseconds of one run.
double EstimateTime(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TIME_ESTIMATE_H_
