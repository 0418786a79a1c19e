// The problems of a network whose kernels are worth a trial.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNED_PROBLEM_H_
#define ASHLAR_RUNTIME_MEASURE_TUNED_PROBLEM_H_

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/measure/median_interval.h"
#include "runtime/plan/kernel_choice.h"
#include "runtime/plan/kernel_record.h"

namespace ashlar {

struct TunedProblem {
  struct Trial {
    std::string implementation;
    // Summed over the nodes, the median of all runs; 0: not tried.
    double seconds = 0;
    // On a device, in the order in which they were measured, of each run.
    std::vector<double> samples = {};

    // The sample that so large a share of them is below.
    double quantile(double share) const;
    double spread() const { return samples.empty() ? 0 : quantile(0.75) - quantile(0.25); }
  };
  std::string key;
  std::string node;  // the name of the first
  int nodes = 0;
  std::vector<Trial> trials;  // the expected order; on the host the present kernel is among them
  int chosen = 0;
  // On the host, where another than the present kernel is chosen: its time over that one's.
  std::optional<MedianInterval> ratio = std::nullopt;

  bool IsTimed() const { return !trials.empty() && trials[chosen].seconds > 0; }
};

struct TunedProblems {
  std::vector<TunedProblem> problems;
  std::vector<int> by_node;  // the problem's index, or -1
};

// The problems of `graph` with several candidates, without those that are expected to take far
// longer than the best. Only of the families in `record`, where it has one for a problem.
TunedProblems FindTunedProblems(const Graph& graph, const std::vector<std::string>& keys,
                                const KernelCandidates& candidates, const KernelRecord& record);

// Puts an implementation on record for so many threads.
void Record(const TunedProblem& problem, const std::string& implementation, int threads,
            KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNED_PROBLEM_H_
