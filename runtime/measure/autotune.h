// Kernels chosen by measurement.
#ifndef ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_
#define ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/kernel_record.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

struct TuneOptions {
  // Of measuring, from when the first pass is prepared; no pass is begun after that but the second,
  // without which there is nothing to compare. The expected best come first.
  double seconds = 5;
  int runs = 4;  // of the network in a pass on the host, the first of which is not counted
  // On devices with clocks of their own, where kernels take microseconds: passes take turns, so
  // often, until time is out.
  int device_runs = 8;
  int device_rounds = 4;
  // Asked after each run; once it says true, what was timed until then decides. May be empty.
  std::function<bool()> stop = nullptr;
};

// A problem with more than one kernel worth a trial.
struct TunedProblem {
  struct Trial {
    std::string implementation;
    // Summed over the nodes: on the host the least of all runs, on a device the median; 0: not
    // tried.
    double seconds = 0;
    // On a device, in the order in which they were measured, of each run.
    std::vector<double> samples = {};

    double spread() const;  // seconds from the lower quartile of the samples to the upper
  };
  std::string key;
  std::string node;  // the name of the first
  int nodes = 0;
  std::vector<Trial> trials;  // the expected order
  int chosen = 0;
};

// Times the candidates of each problem in `graph` inside whole passes of the network, where weights
// come from memory as they do in use: a kernel timed alone would find them in a cache. Only
// candidates whose workspace the plan has room for are tried. What was chosen goes into `record`,
// whose families, where it has one for a problem, stay on the host. DeadlineExceeded where, on
// a device, there are problems and none was timed, unless it was stopped.
absl::StatusOr<std::vector<TunedProblem>> Autotune(const Graph& graph, PlanRequest request,
                                                   const TuneOptions& tune, KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_
