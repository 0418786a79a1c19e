// Kernels of a device timed by its own clock.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_

#include "absl/status/status.h"
#include "runtime/measure/tune_options.h"
#include "runtime/measure/tuned_problem.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

// Times the candidates of `found`, whose nodes are those of `graph`, in whole passes of it, and
// chooses: the expected best gives way only to what is faster by more than noise. The choices go
// into `record`. DeadlineExceeded where nothing was timed, unless it was stopped.
absl::Status TuneOnDevice(const Graph& graph, PlanRequest request, const TuneOptions& tune,
                          TunedProblems& found, KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_DEVICE_H_
