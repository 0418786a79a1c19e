// Times kernels of the host against the present kernels of a plan.
//
// Trials are short: a network with another kernel for each problem alternates with the present one,
// for a few pairs of runs. For each problem, the kernel with the smallest median ratio is a
// candidate. Then a network with all candidates alternates with the present one for longer. A
// kernel that is not faster there with 95 % confidence (MedianIntervalOf, below 1) is dropped. All
// are dropped if the whole network is not faster, because kernels change the contents of caches for
// their neighbours.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_HOST_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_HOST_H_

#include <optional>

#include "absl/status/statusor.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/measure/tuned_problem.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

// Chooses a kernel for each of `found`, whose nodes belong to `graph`. The present kernels are
// those in `record`, which receives the choices. Returns the time of the network with all choices
// relative to its present time; nothing if nothing changes.
absl::StatusOr<std::optional<MedianInterval>> TuneOnHost(const Graph& graph, PlanRequest request,
                                                         const TuneOptions& tune,
                                                         TunedProblems& found,
                                                         KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_HOST_H_
