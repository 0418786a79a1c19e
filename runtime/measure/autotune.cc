#include "runtime/measure/autotune.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <utility>

#include "graph/status.h"
#include "runtime/device/device.h"
#include "runtime/plan/kernel_choice.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/profiler.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

// Candidates expected to take longer than this times the best are not tried; the expectation is
// rarely that wrong.
constexpr double kHopeless = 1.6;
// What is expected to be best gives way only to what is faster by this: less is noise. On a device
// also by as much as its clock may be off for a kernel, and by the spread of either.
constexpr double kConvincing = 0.98;
constexpr double kClockSeconds = 3e-7;
// From the second turn on, only what was no slower than this over the best is timed again.
constexpr double kFinalist = 1.25;

// The problems of a graph whose kernels are worth a trial, and by node the problem's index or -1.
struct Problems {
  std::vector<TunedProblem> problems;
  std::vector<int> by_node;
};

// Only of the families in `record`, where it has one for a problem.
Problems FindProblems(const Graph& graph, const std::vector<std::string>& keys,
                      const KernelCandidates& candidates, const KernelRecord& record) {
  Problems found;
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
    // A family that is no more is as none.
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

// Those of a problem that a turn times.
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

// A record that makes each problem try one of its candidates of a turn: that of the pass, where it
// has so many.
KernelRecord RecordOfPass(const std::vector<TunedProblem>& problems, int turn, size_t pass,
                          int threads) {
  KernelRecord record;
  for (const TunedProblem& problem : problems) {
    const std::vector<int> trials = TrialsOf(problem, turn);
    if (trials.empty()) continue;
    const std::string& tried = problem.trials[trials[pass % trials.size()]].implementation;
    record.choices[problem.key] = {std::string(FamilyOf(tried)), {{threads, tried}}};
  }
  return record;
}

// Random inputs: how fast a device works depends on them.
InputTensors RandomInputs(const Graph& graph) {
  InputTensors inputs;
  std::mt19937_64 random(0);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const Binding& input : graph.inputs()) {
    const TensorType& type = graph.var(input.var).type;
    HostTensor tensor = HostTensor::Zeros(type);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, uniform(random));
    inputs[input.name] = std::move(tensor);
  }
  return inputs;
}

bool Stopped(const TuneOptions& tune) { return tune.stop != nullptr && tune.stop(); }

double Quantile(std::vector<double> values, double share) {
  const auto place =
      values.begin() + static_cast<int64_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

// By kernel that ran for a problem, and by run, the seconds of a node.
using Seconds = std::map<std::pair<int, std::string>, std::vector<double>>;

// Of the runs but the first, by step.
Seconds SecondsOf(const PlannedGraph& planned, const std::vector<int>& by_node,
                  const std::vector<std::vector<double>>& runs) {
  Seconds seconds;
  std::map<std::pair<int, std::string>, int> nodes;
  for (size_t step = 0; step < planned.schedule.order.size(); ++step) {
    const int node = planned.schedule.order[step];
    if (by_node[node] < 0) continue;
    // A problem's nodes may run on several kernels, where the peak has no room for what was asked.
    const std::pair<int, std::string> tried(by_node[node], planned.kernels[node]->implementation());
    ++nodes[tried];
    std::vector<double>& sums = seconds[tried];
    sums.resize(runs.size(), 0);
    for (size_t run = 0; run < runs.size(); ++run) sums[run] += runs[run][step];
  }
  for (auto& [tried, sums] : seconds) {
    for (double& sum : sums) sum /= nodes[tried];
  }
  return seconds;
}

void Note(const Seconds& seconds, bool on_host, std::vector<TunedProblem>& problems) {
  for (const auto& [tried, runs] : seconds) {
    TunedProblem& problem = problems[tried.first];
    for (TunedProblem::Trial& trial : problem.trials) {
      if (trial.implementation != tried.second) continue;
      if (on_host) {
        const double least = runs[0] * problem.nodes;
        trial.seconds = trial.seconds == 0 ? least : std::min(trial.seconds, least);
        continue;
      }
      for (double run : runs) trial.samples.push_back(run * problem.nodes);
      trial.seconds = Quantile(trial.samples, 0.5);
    }
  }
}

// A network with one kernel for each problem, prepared.
struct Pass {
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<Session> session;
  std::vector<HostTensor> outputs;
  InputTensors inputs;
};

absl::StatusOr<Pass> PreparePass(const Graph& graph, const PlanRequest& request) {
  Pass pass;
  ASHLAR_ASSIGN_OR_RETURN(pass.executable, Executable::Compile(graph, request));
  ASHLAR_ASSIGN_OR_RETURN(pass.session, Session::Create(pass.executable));
  pass.inputs = RandomInputs(pass.executable->graph());
  ASHLAR_ASSIGN_OR_RETURN(pass.outputs, BindTensors(*pass.session, pass.inputs));
  return pass;
}

// Runs the network, and notes what its kernels took.
absl::Status RunPass(const Pass& pass, const TuneOptions& tune, Problems& found) {
  const PlannedGraph& planned = pass.executable->planned();
  const bool on_host = planned.device->is_host();
  const size_t steps = planned.schedule.order.size();
  // On the host one run, of the least times of all: whatever else runs there makes steps slower.
  std::vector<std::vector<double>> counted;
  if (on_host) counted.emplace_back(steps, 1e30);
  const int runs = on_host ? tune.runs : tune.device_runs;
  for (int run = 0; run < runs; ++run) {
    Profiler profiler(static_cast<int>(steps));
    ASHLAR_RETURN_IF_ERROR(pass.session->Run(profiler));
    if (run > 0 && !on_host) counted.emplace_back(steps);
    for (size_t step = 0; step < steps && run > 0; ++step) {
      const StepTime& time = profiler.steps()[step];
      const double seconds = time.end - time.start;
      counted.back()[step] = on_host ? std::min(counted.back()[step], seconds) : seconds;
    }
    if (!Stopped(tune)) continue;
    if (run == 0) return absl::OkStatus();
    break;
  }
  Note(SecondsOf(planned, found.by_node, counted), on_host, found.problems);
  return absl::OkStatus();
}

// Whether what one trial gained over another is more than noise.
bool IsConvincing(const TunedProblem::Trial& trial, const TunedProblem::Trial& best, int nodes) {
  if (trial.seconds >= best.seconds * kConvincing) return false;
  if (trial.samples.empty()) return true;
  const double noise = std::max({kClockSeconds * nodes, trial.spread(), best.spread()});
  return best.seconds - trial.seconds > noise;
}

void Choose(int threads, TunedProblem& problem, KernelRecord& record) {
  int best = -1;
  for (size_t i = 0; i < problem.trials.size(); ++i) {
    const TunedProblem::Trial& trial = problem.trials[i];
    if (trial.seconds == 0) continue;
    if (best < 0 || IsConvincing(trial, problem.trials[best], problem.nodes)) {
      best = static_cast<int>(i);
    }
  }
  if (best < 0) return;
  problem.chosen = best;
  const std::string& implementation = problem.trials[best].implementation;
  KernelRecord::Choice& choice = record.choices[problem.key];
  choice.family = std::string(FamilyOf(implementation));
  choice.variants[threads] = implementation;
}

}  // namespace

double TunedProblem::Trial::spread() const {
  return samples.empty() ? 0 : Quantile(samples, 0.75) - Quantile(samples, 0.25);
}

absl::StatusOr<std::vector<TunedProblem>> Autotune(const Graph& graph, PlanRequest request,
                                                   const TuneOptions& tune, KernelRecord& record) {
  auto& [wishes, means, checks] = request;
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(wishes.comp_node));
  means.record = nullptr;
  // A library's kernels are prepared when they are planned with: on devices only those of a pass.
  means.kernels.all_candidates = device->is_host();
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned, PlanGraph(graph, request));
  const Graph& rewritten = planned->graph;
  // The passes have run: their result is planned anew for each trial. Tiles follow each other as
  // they stand in it, and are not to be cut again.
  means.passes = "none";
  if (wishes.tiled()) means.order = Order::kAsGiven;
  wishes.tiles = TileSpec();
  wishes.budget.reset();
  KernelPolicy all = means.kernels;
  all.all_candidates = true;
  ASHLAR_ASSIGN_OR_RETURN(const KernelCandidates candidates,
                          FindKernels(rewritten, planned->model, *planned->device, wishes.processor,
                                      wishes.threads, all));
  // Families stay so that results do not depend on the number of threads; elsewhere all are tried.
  const KernelRecord none;
  Problems found =
      FindProblems(rewritten, KernelKeys(rewritten, planned->model, wishes.threads, all),
                   candidates, device->is_host() ? record : none);
  const int turns = device->is_host() ? 1 : tune.device_rounds;
  Clock::time_point start;
  for (int turn = 0; turn < turns; ++turn) {
    size_t passes = 0;
    for (const TunedProblem& problem : found.problems) {
      passes = std::max(passes, TrialsOf(problem, turn).size());
    }
    for (size_t pass = 0; pass < passes; ++pass) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const bool compares = turn > 0 || pass > 1;  // what was timed is of two already
      if (Stopped(tune) || (compares && seconds > tune.seconds)) break;
      means.record =
          std::make_shared<KernelRecord>(RecordOfPass(found.problems, turn, pass, wishes.threads));
      // What is expected to be best has to run; of the others some may be refused only now.
      const absl::StatusOr<Pass> prepared = PreparePass(rewritten, request);
      if (turn == 0 && pass == 0) {
        ASHLAR_RETURN_IF_ERROR(prepared.status());
        start = Clock::now();
      }
      if (!prepared.ok()) continue;
      const absl::Status status = RunPass(*prepared, tune, found);
      if (turn == 0 && pass == 0) ASHLAR_RETURN_IF_ERROR(status);
    }
  }
  for (TunedProblem& problem : found.problems) Choose(wishes.threads, problem, record);
  const auto is_timed = [](const TunedProblem& problem) {
    return !problem.trials.empty() && problem.trials[problem.chosen].seconds > 0;
  };
  const bool any = std::any_of(found.problems.begin(), found.problems.end(), is_timed);
  // On the host the peak of a small model may have no room for any of them, which is no fault.
  if (found.problems.empty() || any || device->is_host() || Stopped(tune)) {
    return std::move(found.problems);
  }
  return absl::DeadlineExceededError(
      absl::StrCat("nothing was timed: none of the kernels for ", found.problems.size(),
                   " problems ran as it was asked to; the record stays as it is"));
}

}  // namespace ashlar
