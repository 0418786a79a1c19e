#include "runtime/measure/tune_host.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "graph/status.h"
#include "runtime/measure/network_turns.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

// A kernel is a candidate for confirmation if its trial took at most this share of the present
// time.
constexpr double kPromising = 0.98;
// Limit on confirmations; after each, slow kernels are dropped and the others confirmed again.
constexpr int kConfirmations = 3;

// By problem, another implementation to run; problems without an entry use the present one.
using Choices = std::map<int, std::string>;

class HostTuning {
 public:
  HostTuning(const Graph& graph, PlanRequest request, const TuneOptions& tune, TunedProblems& found,
             KernelRecord& record)
      : graph_(graph), request_(std::move(request)), tune_(tune), found_(found), record_(record) {}

  absl::StatusOr<std::optional<MedianInterval>> Run() {
    ASHLAR_ASSIGN_OR_RETURN(TimedNetwork present, Prepare({}));
    FindPresent(present);
    start_ = Clock::now();
    ASHLAR_ASSIGN_OR_RETURN(Choices choices, Try(present));
    ASHLAR_ASSIGN_OR_RETURN(const std::optional<MedianInterval> whole, Confirm(present, choices));
    for (size_t i = 0; i < found_.problems.size(); ++i) {
      TunedProblem& problem = found_.problems[i];
      const auto choice = choices.find(static_cast<int>(i));
      Choose(choice == choices.end() ? present_[i] : choice->second, problem);
      if (problem.IsTimed()) {
        Record(problem, problem.trials[problem.chosen].implementation, request_.target.threads,
               record_);
      }
    }
    return whole;
  }

 private:
  absl::StatusOr<TimedNetwork> Prepare(const Choices& choices) {
    KernelRecord record = record_;
    for (const auto& [problem, implementation] : choices) {
      Record(found_.problems[problem], implementation, request_.target.threads, record);
    }
    request_.planning.record = std::make_shared<const KernelRecord>(std::move(record));
    return TimedNetwork::Prepare(graph_, request_);
  }

  // Finds the present kernel of each problem, which is its first scheduled node's; others may have
  // another one if it does not fit under the peak. The present kernel is among the trials from now
  // on.
  void FindPresent(const TimedNetwork& present) {
    present_.resize(found_.problems.size());
    for (const int node : present.planned().schedule.order) {
      const int problem = found_.by_node[node];
      if (problem < 0) continue;
      steps_.push_back(node);
      if (present_[problem].empty()) present_[problem] = present.Implementation(node);
    }
    for (size_t i = 0; i < present_.size(); ++i) {
      if (!present_[i].empty()) TrialOf(found_.problems[i], present_[i]);
    }
  }

  static TunedProblem::Trial& TrialOf(TunedProblem& problem, const std::string& implementation) {
    for (TunedProblem::Trial& trial : problem.trials) {
      if (trial.implementation == implementation) return trial;
    }
    problem.trials.push_back({implementation});
    return problem.trials.back();
  }

  static void Choose(const std::string& implementation, TunedProblem& problem) {
    for (size_t i = 0; i < problem.trials.size(); ++i) {
      if (problem.trials[i].implementation == implementation) problem.chosen = static_cast<int>(i);
    }
  }

  // Returns by problem the nodes that run on the chosen kernel; a kernel that does not fit under
  // the peak has none.
  std::map<int, std::vector<int>> NodesOf(const TimedNetwork& network,
                                          const Choices& choices) const {
    std::map<int, std::vector<int>> nodes;
    for (const int node : steps_) {
      const auto choice = choices.find(found_.by_node[node]);
      if (choice != choices.end() && network.Implementation(node) == choice->second) {
        nodes[choice->first].push_back(node);
      }
    }
    return nodes;
  }

  // Notes the present times of all problems, including problems without another kernel.
  void NotePresent(const NetworkTurns& turns) {
    std::map<int, std::vector<int>> nodes;
    for (const int node : steps_) nodes[found_.by_node[node]].push_back(node);
    for (const auto& [problem, its_nodes] : nodes) {
      TrialOf(found_.problems[problem], present_[problem]).seconds =
          turns.Seconds(&NetworkTurns::Pair::present, its_nodes);
    }
  }

  // Notes the times of a problem's kernels, from the nodes that ran on the other kernel.
  void Note(const NetworkTurns& turns, int index, const std::string& other,
            const std::vector<int>& nodes) {
    TunedProblem& problem = found_.problems[index];
    const double scale = static_cast<double>(problem.nodes) / static_cast<double>(nodes.size());
    TrialOf(problem, other).seconds = turns.Seconds(&NetworkTurns::Pair::other, nodes) * scale;
    TrialOf(problem, present_[index]).seconds =
        turns.Seconds(&NetworkTurns::Pair::present, nodes) * scale;
  }

  // Returns the most promising kernels.
  absl::StatusOr<Choices> Try(TimedNetwork& present) {
    Choices choices;
    std::map<int, double> least;
    const TurnLimits trial{tune_.trial_pairs, tune_.trial_pairs, {}};
    size_t passes = 0;
    for (const TunedProblem& problem : found_.problems) {
      passes = std::max(passes, problem.trials.size());
    }
    for (size_t pass = 0; pass < passes; ++pass) {
      if (tune_.stopped() || (pass > 1 && Clock::now() > start_ + tune_.duration())) break;
      Choices tried;
      for (size_t i = 0; i < found_.problems.size(); ++i) {
        const std::vector<TunedProblem::Trial>& trials = found_.problems[i].trials;
        if (pass >= trials.size() || present_[i].empty()) continue;
        if (trials[pass].implementation == present_[i]) continue;
        tried[static_cast<int>(i)] = trials[pass].implementation;
      }
      if (tried.empty()) continue;
      // A kernel that cannot be prepared is not a candidate.
      absl::StatusOr<TimedNetwork> network = Prepare(tried);
      if (!network.ok()) continue;
      ASHLAR_ASSIGN_OR_RETURN(const NetworkTurns turns, TakeTurns(present, *network, trial, tune_));
      if (turns.pairs.empty()) break;
      NotePresent(turns);
      for (const auto& [problem, nodes] : NodesOf(*network, tried)) {
        Note(turns, problem, tried[problem], nodes);
        const double ratio = MedianOf(turns.Ratios(nodes));
        const auto [it, first] = least.try_emplace(problem, kPromising);
        if (ratio >= it->second) continue;
        it->second = ratio;
        choices[problem] = tried[problem];
      }
    }
    return choices;
  }

  // Keeps the choices that are faster with 95 % confidence.
  absl::StatusOr<std::optional<MedianInterval>> Confirm(TimedNetwork& present, Choices& choices) {
    const TurnLimits confirmation{kLeastConfirming, tune_.confirming_pairs,
                                  start_ + tune_.duration()};
    for (int i = 0; i < kConfirmations && !choices.empty(); ++i) {
      ASHLAR_ASSIGN_OR_RETURN(TimedNetwork network, Prepare(choices));
      ASHLAR_ASSIGN_OR_RETURN(const NetworkTurns turns,
                              TakeTurns(present, network, confirmation, tune_));
      const auto nodes = NodesOf(network, choices);
      const std::optional<MedianInterval> whole =
          MedianIntervalOf(turns.Ratios(network.planned().schedule.order));
      const size_t before = choices.size();
      for (const auto& [problem, implementation] : Choices(choices)) {
        const auto its_nodes = nodes.find(problem);
        std::optional<MedianInterval> ratio;
        if (its_nodes != nodes.end()) {
          Note(turns, problem, implementation, its_nodes->second);
          ratio = MedianIntervalOf(turns.Ratios(its_nodes->second));
        }
        const bool faster = ratio.has_value() && ratio->high < 1;
        found_.problems[problem].ratio = faster ? ratio : std::nullopt;
        if (!faster) choices.erase(problem);
      }
      if (choices.size() == before && whole.has_value() && whole->high < 1) return whole;
    }
    for (const auto& [problem, implementation] : choices) {
      found_.problems[problem].ratio = std::nullopt;
    }
    choices.clear();
    return std::nullopt;
  }

  const Graph& graph_;
  PlanRequest request_;
  const TuneOptions& tune_;
  TunedProblems& found_;
  KernelRecord& record_;
  Clock::time_point start_;           // of trials
  std::vector<std::string> present_;  // by problem; empty if none of its nodes runs
  std::vector<int> steps_;            // the scheduled nodes that have a problem
};

}  // namespace

absl::StatusOr<std::optional<MedianInterval>> TuneOnHost(const Graph& graph, PlanRequest request,
                                                         const TuneOptions& tune,
                                                         TunedProblems& found,
                                                         KernelRecord& record) {
  return HostTuning(graph, std::move(request), tune, found, record).Run();
}

}  // namespace ashlar
