// Estimates the time of a graph from arithmetic and traffic. The search for tiles compares plans by
// it. Devices whose registry has work functions tell the cycles of each operator; the arithmetic of
// others is its operations.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_TIME_ESTIMATE_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_TIME_ESTIMATE_H_

#include <memory>
#include <optional>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/plan/request/plan_target.h"
#include "runtime/plan/request/planning_options.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// The rates of a processor per millisecond, on all threads.
struct ProcessorSpeed {
  double flops = 1e7;         // of a convolution that keeps it busy
  double second_level = 6e7;  // bytes read from or written to the second-level caches
  double third_level = 2e7;   // likewise for the third level and memory, which the threads share
  double memory = 1e7;
  double second_level_bytes = 1 << 20;
  double kernel_ms = 0.003;  // time to start a kernel whose cycles are unknown

  // For kernels whose cycles are known: the cycles of all cores together, and the processor.
  const KernelRegistry* kernels = nullptr;
  double cycles = 0;
  int threads = 1;
  Processor processor = {};
  bool direct = false;  // WorkRequest::direct
};

// Returns the speed of `processor`, or of the device's own. Uses the measurements in `record` (may
// be null) for this number of threads if there are any, otherwise a table.
ProcessorSpeed SpeedOf(const Device& device, const std::optional<Processor>& processor, int threads,
                       const KernelRecord* record = nullptr);
inline ProcessorSpeed SpeedOf(const Device& device, const PlanTarget& target,
                              const PlanningOptions& planning) {
  ProcessorSpeed speed = SpeedOf(device, target.processor, target.threads, planning.record.get());
  speed.direct = planning.kernels.exact || planning.kernels.low_workspace;
  return speed;
}

// Estimates the milliseconds of one operator that computes `share` of its images, by `kernel`, or,
// if it is null, by the kernel that would be chosen first.
double EstimateOperator(const Graph& graph, const StorageModel& model, int node,
                        const ProcessorSpeed& speed, double share = 1,
                        const Kernel* kernel = nullptr);

// Estimates the milliseconds of one run, with these kernels by node (null if none runs), or, if
// there are none, with the kernels that would be chosen first.
double EstimateTime(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed,
                    absl::Span<const std::shared_ptr<const Kernel>> kernels = {});

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_TIME_ESTIMATE_H_
