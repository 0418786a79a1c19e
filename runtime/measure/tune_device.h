// Kernels of a device timed by its own clock.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/measure/tuned_problem.h"
#include "runtime/plan/kernel_choice.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

// Times the trials of `found`, whose nodes are those of `graph`, in whole passes of it, and chooses
// (`candidates` are their kernels by node, each prepared while there is time): the expected best
// gives way only to what is faster by more than noise. Then recordings of the whole network with
// the choices and without take turns, many repetitions each; where that with them is not faster
// beyond doubt, the expected ones stay. The choices go into `record`. Returns the time of the
// network with them over that without; none where nothing changes. DeadlineExceeded where nothing
// was timed, unless it was stopped.
absl::StatusOr<std::optional<MedianInterval>> TuneOnDevice(const Graph& graph, PlanRequest request,
                                                           const KernelCandidates& candidates,
                                                           const TuneOptions& tune,
                                                           TunedProblems& found,
                                                           KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_
