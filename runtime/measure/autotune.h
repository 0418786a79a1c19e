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
  double seconds = 5;  // no further pass is begun after that; the expected best come first
  int runs = 4;        // of the network in a pass, the first of which is not counted
  // Asked after each run; once it says true, the times until then decide. May be empty.
  std::function<bool()> stop = nullptr;
};

// A problem with more than one kernel worth a trial.
struct TunedProblem {
  struct Trial {
    std::string implementation;
    double seconds = 0;  // the least of all runs, summed over the nodes; 0: not tried
  };
  std::string key;
  std::string node;  // the name of the first
  int nodes = 0;
  std::vector<Trial> trials;  // the expected order
  int chosen = 0;
};

// Times the candidates of each problem in `graph` inside whole passes of the network, where weights
// come from memory as they do in use: a kernel timed alone would find them in a cache. Only
// candidates whose workspace the plan has room for are tried. The choices go into `record`,
// whose families, where it has one for a problem, stay on the host.
absl::StatusOr<std::vector<TunedProblem>> Autotune(const Graph& graph, PlanRequest request,
                                                   const TuneOptions& tune, KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_AUTOTUNE_H_
