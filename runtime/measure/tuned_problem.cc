#include "runtime/measure/tuned_problem.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ashlar {
namespace {

// Candidates that are expected to take longer than the best times this are not tried; the estimate
// is rarely that wrong.
constexpr double kHopeless = 1.6;

}  // namespace

double TunedProblem::Trial::quantile(double share) const {
  std::vector<double> values = samples;
  const auto place =
      values.begin() + static_cast<int64_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

TunedProblems FindTunedProblems(const Graph& graph, const std::vector<std::string>& keys,
                                const KernelCandidates& candidates, const KernelRecord& record) {
  TunedProblems found;
  found.by_node.assign(candidates.size(), -1);
  std::map<std::string, int> index;
  for (size_t node = 0; node < candidates.size(); ++node) {
    if (candidates[node].size() < 2) continue;
    const auto [it, added] = index.try_emplace(keys[node], static_cast<int>(found.problems.size()));
    found.by_node[node] = it->second;
    if (!added) {
      ++found.problems[it->second].nodes;
      continue;
    }
    TunedProblem problem{keys[node], graph.node(static_cast<int>(node)).name, 1, {}, 0};
    const auto known = record.choices.find(keys[node]);
    const auto of_known = [&](const auto& kernel) {
      return known != record.choices.end() &&
             FamilyOf(kernel->implementation()) == known->second.family;
    };
    // A family that no longer exists is ignored.
    const bool stays = std::any_of(candidates[node].begin(), candidates[node].end(), of_known);
    double best = candidates[node][0]->relative_time();
    for (const auto& kernel : candidates[node]) best = std::min(best, kernel->relative_time());
    for (const auto& kernel : candidates[node]) {
      const std::string implementation = kernel->implementation();
      if (kernel->relative_time() > kHopeless * best) continue;
      if (stays && !of_known(kernel)) continue;
      problem.trials.push_back({implementation});
    }
    found.problems.push_back(std::move(problem));
  }
  return found;
}

void Record(const TunedProblem& problem, const std::string& implementation, int threads,
            KernelRecord& record) {
  KernelRecord::Choice& choice = record.choices[problem.key];
  choice.family = std::string(FamilyOf(implementation));
  choice.variants[threads] = implementation;
}

}  // namespace ashlar
