// The problems of a network whose kernels are worth a trial.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNED_PROBLEM_H_
#define ASHLAR_RUNTIME_MEASURE_TUNED_PROBLEM_H_

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/measure/median_interval.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/plan/stages/kernel_choice.h"

namespace ashlar {

struct TunedProblem {
  struct Trial {
    std::string implementation;
    // The median of all runs, summed over the nodes; 0: not tried.
    double seconds = 0;
    // On a device: of each run, in the order of measurement.
    std::vector<double> samples = {};
    // On a device: the network's outputs differ with it (output_check.h), so it is not a candidate.
    bool wrong = false;

    // Returns the sample below which `share` of the samples lie.
    double quantile(double share) const;
    double spread() const { return samples.empty() ? 0 : quantile(0.75) - quantile(0.25); }
  };
  std::string key;
  std::string node;  // name of the first node
  int nodes = 0;
  std::vector<Trial> trials;  // in the expected order; on the host, the present kernel is among
                              // them
  int chosen = 0;
  // On the host, if another kernel is chosen: its time relative to the present kernel's.
  std::optional<MedianInterval> ratio = std::nullopt;

  bool IsTimed() const { return !trials.empty() && trials[chosen].seconds > 0; }
};

struct TunedProblems {
  std::vector<TunedProblem> problems;
  std::vector<int> by_node;  // index of the problem, or -1
};

// Returns the problems of `graph` that have several candidates, without candidates that are
// expected to take far longer than the best. If `record` has a family for a problem, only its
// kernels are candidates.
TunedProblems FindTunedProblems(const Graph& graph, const std::vector<std::string>& keys,
                                const KernelCandidates& candidates, const KernelRecord& record);

// Records an implementation for this number of threads.
void Record(const TunedProblem& problem, const std::string& implementation, int threads,
            KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNED_PROBLEM_H_
