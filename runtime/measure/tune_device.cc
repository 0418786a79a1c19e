#include "runtime/measure/tune_device.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/measure/output_check.h"
#include "runtime/measure/timed_network.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

// Another kernel only replaces the expected one if it is faster by this factor. The gain must also
// exceed the error of the device's clock for a kernel, and the spread of either.
constexpr double kConvincing = 0.98;
constexpr double kClockSeconds = 3e-7;
// Duration of one sample of a network, and the limit on its repetitions.
constexpr double kSampleSeconds = 0.01, kMostRuns = 50;
// From the second turn on, only kernels within this factor of the best are timed again.
constexpr double kFinalist = 1.25;

// Returns the trials of a problem in a turn.
std::vector<int> TrialsOf(const TunedProblem& problem, int turn) {
  double best = 0;
  for (const TunedProblem::Trial& trial : problem.trials) {
    if (trial.seconds > 0 && (best == 0 || trial.seconds < best)) best = trial.seconds;
  }
  std::vector<int> trials;
  for (size_t i = 0; i < problem.trials.size(); ++i) {
    const double seconds = problem.trials[i].seconds;
    const bool again = seconds > 0 && seconds <= kFinalist * best;
    if (turn == 0 || again) trials.push_back(static_cast<int>(i));
  }
  return trials;
}

// Prepares kernels of a library while there is time: some take a second to compile.
class Preparation {
 public:
  Preparation(const KernelCandidates& candidates, const TunedProblems& found,
              const TuneOptions& tune)
      : candidates_(candidates), found_(found), tune_(tune) {}

  // Starts the time limit after the network with the expected kernels is prepared.
  void StartClock() { start_ = Clock::now(); }
  bool IsOver() const {
    return start_.has_value() && (tune_.stopped() || Clock::now() - *start_ > tune_.duration());
  }

  // Returns whether a trial of a problem can run: it is prepared now or was before. Even without
  // time, one kernel besides the expected one is prepared, because otherwise nothing can be
  // compared.
  bool Prepare(size_t problem, const std::string& implementation) {
    const auto [place, added] = prepared_.insert({problem, implementation});
    if (!added || !start_.has_value()) return true;
    if (IsOver() && (compares_ || tune_.stopped())) {
      prepared_.erase(place);
      return false;
    }
    compares_ = true;
    const auto& by_node = found_.by_node;
    const auto node = std::find(by_node.begin(), by_node.end(), static_cast<int>(problem));
    for (const auto& kernel : candidates_[node - by_node.begin()]) {
      if (kernel->implementation() == implementation) kernel->workspace_bytes();
    }
    return true;
  }

 private:
  const KernelCandidates& candidates_;
  const TunedProblems& found_;
  const TuneOptions& tune_;
  std::optional<Clock::time_point> start_;
  std::set<std::pair<size_t, std::string>> prepared_;
  bool compares_ = false;
};

// Returns a record that makes each problem use one of its candidates in this turn: candidate number
// `pass`, if it exists and there is time to prepare it.
KernelRecord RecordOfPass(const std::vector<TunedProblem>& problems, int turn, size_t pass,
                          int threads, Preparation& preparation) {
  KernelRecord record;
  for (size_t i = 0; i < problems.size(); ++i) {
    const std::vector<int> trials = TrialsOf(problems[i], turn);
    if (trials.empty()) continue;
    const std::string& tried = problems[i].trials[trials[pass % trials.size()]].implementation;
    if (preparation.Prepare(i, tried)) Record(problems[i], tried, threads, record);
  }
  return record;
}

// Adds the samples of the kernels that ran. A problem's nodes may run on several kernels if the
// requested one does not fit under the peak: each kernel gets the mean over its nodes, times all
// nodes, for each run.
void Note(const TimedNetwork& network, const std::vector<std::vector<double>>& runs,
          TunedProblems& found) {
  std::map<std::pair<int, std::string>, std::vector<int>> nodes;
  for (const int node : network.planned().schedule.order) {
    const int problem = found.by_node[node];
    if (problem >= 0) nodes[{problem, network.Implementation(node)}].push_back(node);
  }
  for (const auto& [tried, its_nodes] : nodes) {
    TunedProblem& problem = found.problems[tried.first];
    for (TunedProblem::Trial& trial : problem.trials) {
      if (trial.implementation != tried.second) continue;
      for (const std::vector<double>& run : runs) {
        double sum = 0;
        for (const int node : its_nodes) sum += run[node];
        trial.samples.push_back(sum / static_cast<double>(its_nodes.size()) * problem.nodes);
      }
      trial.seconds = trial.quantile(0.5);
    }
  }
}

// Returns the first trial that ran: if the kernel that is expected to be best does not fit under
// the peak, another one runs. -1 if none ran.
int ExpectedOf(const TunedProblem& problem) {
  for (size_t i = 0; i < problem.trials.size(); ++i) {
    if (problem.trials[i].seconds > 0) return static_cast<int>(i);
  }
  return -1;
}

// Whether values are rounded to 16 bits or TF32 on the way to the outputs.
bool Rounds(const PlannedGraph& planned, const PlanRequest& request) {
  if (request.planning.kernels.allow_tf32) return true;
  for (const OperatorNode& node : planned.graph.nodes()) {
    for (const int var : node.outputs) {
      const DType dtype = planned.graph.var(var).type.dtype;
      if (IsFloat(dtype) && SizeOf(dtype) == 2) return true;
    }
  }
  return false;
}

// Finds the kernels with which the outputs differ, among kernels that ran together.
class WrongKernels {
 public:
  using Tried = std::set<std::pair<int, std::string>>;  // problem, implementation

  WrongKernels(const Graph& graph, PlanRequest request, const TuneOptions& tune,
               const OutputCheck& check, TunedProblems& found, SharedTensors& shared)
      : graph_(graph),
        request_(std::move(request)),
        tune_(tune),
        check_(check),
        found_(found),
        shared_(shared) {}

  // Marks them, and forgets their times.
  void LeaveOut(const TimedNetwork& network) {
    Tried tried;
    for (const int node : network.planned().schedule.order) {
      const int problem = found_.by_node[node];
      if (problem < 0) continue;
      std::string implementation = network.Implementation(node);
      if (implementation != Expected(problem)) tried.insert({problem, std::move(implementation)});
    }
    for (const auto& [problem, implementation] : Find(tried)) {
      for (TunedProblem::Trial& trial : found_.problems[problem].trials) {
        if (trial.implementation == implementation)
          trial = {.implementation = implementation, .wrong = true};
      }
    }
  }

 private:
  std::string Expected(int problem) const {
    const int trial = ExpectedOf(found_.problems[problem]);
    return trial < 0 ? std::string() : found_.problems[problem].trials[trial].implementation;
  }

  // Returns the part of `tried` with which the outputs differ; all, if they differ with all
  // together alone, or if there is no time to tell.
  Tried Find(const Tried& tried) {
    if (tried.size() < 2 || tune_.stopped()) return tried;
    Tried wrong;
    auto middle = tried.begin();
    std::advance(middle, tried.size() / 2);
    for (const Tried& half : {Tried(tried.begin(), middle), Tried(middle, tried.end())}) {
      if (!Differs(half)) continue;
      wrong.merge(Find(half));
    }
    return wrong.empty() ? tried : wrong;
  }

  bool Differs(const Tried& tried) {
    KernelRecord record;
    for (size_t i = 0; i < found_.problems.size(); ++i) {
      const std::string expected = Expected(static_cast<int>(i));
      if (!expected.empty()) {
        Record(found_.problems[i], expected, request_.target.threads, record);
      }
    }
    for (const auto& [problem, implementation] : tried) {
      Record(found_.problems[problem], implementation, request_.target.threads, record);
    }
    request_.planning.record = std::make_shared<const KernelRecord>(std::move(record));
    absl::StatusOr<TimedNetwork> network = TimedNetwork::Prepare(graph_, request_, shared_);
    return !network.ok() || !network->Run().ok() || !check_.Agrees(network->outputs());
  }

  const Graph& graph_;
  PlanRequest request_;
  const TuneOptions& tune_;
  const OutputCheck& check_;
  TunedProblems& found_;
  SharedTensors& shared_;
};

absl::Status RunPass(TimedNetwork& network, const TuneOptions& tune, TunedProblems& found) {
  std::vector<std::vector<double>> counted;
  for (int run = 0; run < tune.device_runs; ++run) {
    ASHLAR_ASSIGN_OR_RETURN(std::vector<double> seconds, network.Run());
    if (run > 0) counted.push_back(std::move(seconds));
    if (tune.stopped()) break;
  }
  if (!counted.empty()) Note(network, counted, found);
  return absl::OkStatus();
}

// Returns whether the gain of one trial over another is more than noise.
bool IsConvincing(const TunedProblem::Trial& trial, const TunedProblem::Trial& best, int nodes) {
  if (trial.seconds >= best.seconds * kConvincing) return false;
  const double noise = std::max({kClockSeconds * nodes, trial.spread(), best.spread()});
  return best.seconds - trial.seconds > noise;
}

void Choose(int threads, TunedProblem& problem, KernelRecord& record) {
  int best = ExpectedOf(problem);
  if (best < 0) return;
  for (size_t i = 0; i < problem.trials.size(); ++i) {
    const TunedProblem::Trial& trial = problem.trials[i];
    if (trial.seconds > 0 && IsConvincing(trial, problem.trials[best], problem.nodes)) {
      best = static_cast<int>(i);
    }
  }
  problem.chosen = best;
  Record(problem, problem.trials[best].implementation, threads, record);
}

// Prepares the network with the choices, or with the kernels that are expected to be best.
absl::StatusOr<TimedNetwork> PrepareAll(const Graph& graph, PlanRequest request,
                                        const std::vector<TunedProblem>& problems, bool chosen,
                                        SharedTensors& shared) {
  KernelRecord record;
  for (const TunedProblem& problem : problems) {
    const int expected = ExpectedOf(problem);
    if (expected < 0) continue;
    const int trial = chosen ? problem.chosen : expected;
    Record(problem, problem.trials[trial].implementation, request.target.threads, record);
  }
  request.planning.record = std::make_shared<const KernelRecord>(std::move(record));
  return TimedNetwork::Prepare(graph, request, shared);
}

// Returns how many runs take long enough for the clock's accuracy.
absl::StatusOr<int> RepetitionsOf(TimedNetwork& network) {
  ASHLAR_ASSIGN_OR_RETURN(const double once, network.SecondsOfSteps(1));
  return static_cast<int>(std::clamp(kSampleSeconds / std::max(once, 1e-9), 1.0, kMostRuns));
}

// Returns the time of the network with the choices relative to the time without, from alternating
// pairs.
absl::StatusOr<std::optional<MedianInterval>> RatioOfChoices(
    const Graph& graph, const PlanRequest& request, const TuneOptions& tune,
    const TunedProblems& found, const OutputCheck& check, SharedTensors& shared) {
  ASHLAR_ASSIGN_OR_RETURN(TimedNetwork expected,
                          PrepareAll(graph, request, found.problems, /*chosen=*/false, shared));
  ASHLAR_ASSIGN_OR_RETURN(TimedNetwork chosen,
                          PrepareAll(graph, request, found.problems, /*chosen=*/true, shared));
  ASHLAR_RETURN_IF_ERROR(chosen.Run().status());
  if (!check.Agrees(chosen.outputs())) return std::nullopt;  // each alone does
  ASHLAR_ASSIGN_OR_RETURN(const int repetitions, RepetitionsOf(expected));
  std::vector<double> ratios;
  for (int pair = 0; pair < tune.confirming_pairs && !tune.stopped(); ++pair) {
    double seconds[2];  // expected kernels, choices
    for (const bool second : {false, true}) {
      const bool of_choices = second == (pair % 2 == 0);
      ASHLAR_ASSIGN_OR_RETURN(seconds[of_choices ? 1 : 0],
                              (of_choices ? chosen : expected).SecondsOfSteps(repetitions));
    }
    if (seconds[0] > 0) ratios.push_back(seconds[1] / seconds[0]);
  }
  return MedianIntervalOf(std::move(ratios));
}

// Keeps the choices if the network is faster with them with 95 % confidence, and gives the outputs
// that are expected.
absl::StatusOr<std::optional<MedianInterval>> Confirm(
    const Graph& graph, const PlanRequest& request, const TuneOptions& tune, TunedProblems& found,
    KernelRecord& record, const OutputCheck& check, SharedTensors& shared) {
  const auto changed = [](const TunedProblem& problem) {
    return problem.IsTimed() && problem.chosen != ExpectedOf(problem);
  };
  const bool changes = std::any_of(found.problems.begin(), found.problems.end(), changed);
  if (!changes || tune.stopped()) return std::nullopt;
  ASHLAR_ASSIGN_OR_RETURN(const std::optional<MedianInterval> ratio,
                          RatioOfChoices(graph, request, tune, found, check, shared));
  if (tune.stopped() || (ratio.has_value() && ratio->high < 1)) return ratio;
  for (TunedProblem& problem : found.problems) {
    if (!changed(problem)) continue;
    problem.chosen = ExpectedOf(problem);
    Record(problem, problem.trials[problem.chosen].implementation, request.target.threads, record);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::optional<MedianInterval>> TuneOnDevice(const Graph& graph, PlanRequest request,
                                                           const KernelCandidates& candidates,
                                                           const TuneOptions& tune,
                                                           TunedProblems& found,
                                                           KernelRecord& record) {
  const int threads = request.target.threads;
  SharedTensors shared;
  Preparation preparation(candidates, found, tune);
  std::optional<OutputCheck> check;
  for (int turn = 0; turn < tune.device_rounds; ++turn) {
    size_t passes = 0;
    for (const TunedProblem& problem : found.problems) {
      passes = std::max(passes, TrialsOf(problem, turn).size());
    }
    for (size_t pass = 0; pass < passes; ++pass) {
      const bool compares = turn > 0 || pass > 1;  // two kernels were timed already
      if (tune.stopped() || (compares && preparation.IsOver())) break;
      request.planning.record = std::make_shared<KernelRecord>(
          RecordOfPass(found.problems, turn, pass, threads, preparation));
      // The kernels that are expected to be best have to run; others may be refused at this point.
      absl::StatusOr<TimedNetwork> network = TimedNetwork::Prepare(graph, request, shared);
      if (turn == 0 && pass == 0) {
        ASHLAR_RETURN_IF_ERROR(network.status());
        preparation.StartClock();
      }
      if (!network.ok()) continue;
      const absl::Status status = RunPass(*network, tune, found);
      if (turn == 0 && pass == 0) {
        ASHLAR_RETURN_IF_ERROR(status);
        check.emplace(network->outputs(), Rounds(network->planned(), request));
      } else if (turn == 0 && status.ok() && !check->Agrees(network->outputs())) {
        WrongKernels(graph, request, tune, *check, found, shared).LeaveOut(*network);
      }
    }
  }
  for (TunedProblem& problem : found.problems) Choose(threads, problem, record);
  const bool any = std::any_of(found.problems.begin(), found.problems.end(),
                               std::mem_fn(&TunedProblem::IsTimed));
  if (any) return Confirm(graph, request, tune, found, record, *check, shared);
  if (found.problems.empty() || tune.stopped()) return std::nullopt;
  return absl::DeadlineExceededError(
      absl::StrCat("nothing was timed: no kernel for ", found.problems.size(),
                   " problems ran as it was asked to; the record stays as it is"));
}

}  // namespace ashlar
