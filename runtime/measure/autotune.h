// Kernels chosen by measurement.
#ifndef ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_
#define ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/measure/tuned_problem.h"
#include "runtime/plan/kernel_record.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

struct Tuning {
  std::vector<TunedProblem> problems;
  // Where something changes: the time of the network with what was chosen over its time before, on
  // a device over that with what was expected to be best.
  std::optional<MedianInterval> ratio;
};

// Times the candidates of each problem in `graph` inside whole runs of the network, where weights
// come from memory as they do in use: a kernel timed alone would find them in a cache. Only
// candidates whose workspace the plan has room for are tried. What was chosen goes into `record`,
// whose families, where it has one for a problem, stay on the host. DeadlineExceeded where, on
// a device, there are problems and none was timed, unless it was stopped.
absl::StatusOr<Tuning> Autotune(const Graph& graph, PlanRequest request, const TuneOptions& tune,
                                KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_
