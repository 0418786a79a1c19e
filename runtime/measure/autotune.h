// Chooses kernels by measurement.
#ifndef ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_
#define ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/measure/tuned_problem.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

struct Tuning {
  std::vector<TunedProblem> problems;
  // If kernels change: the time of the network with the chosen kernels relative to its time before;
  // on a device, relative to the kernels expected to be best.
  std::optional<MedianInterval> ratio;
};

// Times the candidates of each problem in `graph` within whole runs of the network. There weights
// come from memory, as in use; a kernel timed alone would find them in a cache. Tries only
// candidates whose workspace fits the plan. Stores the choices in `record`; on the host, families
// that it has for a problem stay. DeadlineExceeded if, on a device, there are problems but none was
// timed, unless tuning was stopped.
absl::StatusOr<Tuning> Autotune(const Graph& graph, PlanRequest request, const TuneOptions& tune,
                                KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_
