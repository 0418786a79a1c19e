// Times the kernels of a device with the device's clock.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/measure/tuned_problem.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/kernel_choice.h"

namespace ashlar {

// Times the trials of `found`, whose nodes belong to `graph`, in whole runs of the network, and
// chooses. `candidates` are the kernels by node; each is prepared while there is time. The kernel
// that is expected to be best is only replaced by one that is faster by more than noise.
//
// Then confirms the choices: recordings of the network with and without them alternate, with many
// repetitions each. Unless the network is faster with 95 % confidence, the expected kernels stay.
// Stores the choices in `record`. Returns the time of the network with the choices relative to the
// time without; nothing if nothing changes. DeadlineExceeded if no problem was timed, unless tuning
// was stopped.
absl::StatusOr<std::optional<MedianInterval>> TuneOnDevice(const Graph& graph, PlanRequest request,
                                                           const KernelCandidates& candidates,
                                                           const TuneOptions& tune,
                                                           TunedProblems& found,
                                                           KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_
