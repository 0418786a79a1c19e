// Kernels of the host timed against those that a plan has now.
//
// Trials are short: a network with another kernel for each problem takes turns with the present
// one, a few pairs of runs, and of each problem the kernel with the least median ratio is kept in
// mind. Then a network with all that seemed faster takes turns with the present one for longer.
// What is not faster there beyond doubt stays as it was (MedianIntervalOf, below 1), and so does
// everything where the whole network is not: kernels change what their neighbours find in caches.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_HOST_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_HOST_H_

#include <optional>

#include "absl/status/statusor.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/measure/tuned_problem.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

// Chooses for each of `found`, whose nodes are those of `graph`. The present kernels are those of
// `record`, into which the choices go. Returns the time of the network with all choices over its
// present time; none where nothing changes.
absl::StatusOr<std::optional<MedianInterval>> TuneOnHost(const Graph& graph, PlanRequest request,
                                                         const TuneOptions& tune,
                                                         TunedProblems& found,
                                                         KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_HOST_H_
