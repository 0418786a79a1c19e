#include "runtime/measure/autotune.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <utility>

#include "graph/status.h"
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
// The kernel that is expected to be best gives way only to one that is faster by this: less is
// noise.
constexpr double kConvincing = 0.98;

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
      problem.trials.push_back({implementation, 0});
    }
    found.problems.push_back(std::move(problem));
  }
  return found;
}

// A record that makes each problem try candidate `pass`, where it has so many.
KernelRecord RecordOfPass(const std::vector<TunedProblem>& problems, size_t pass, int threads) {
  KernelRecord record;
  for (const TunedProblem& problem : problems) {
    if (problem.trials.empty()) continue;
    const std::string& tried = problem.trials[pass % problem.trials.size()].implementation;
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
    HostTensor tensor = HostTensor::Zeros(type.dtype, type.shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, uniform(random));
    inputs[input.name] = std::move(tensor);
  }
  return inputs;
}

bool Stopped(const TuneOptions& tune) { return tune.stop != nullptr && tune.stop(); }

// Runs the network with one kernel for each problem, and notes their times.
absl::Status RunPass(const Graph& graph, const PlanRequest& request, const TuneOptions& tune,
                     Problems& found) {
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                          Executable::Compile(graph, request));
  const PlannedGraph& planned = executable->planned();
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(executable));
  const InputTensors inputs = RandomInputs(executable->graph());
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs, BindTensors(*session, inputs));
  const std::vector<int>& order = planned.schedule.order;
  std::vector<double> least(order.size(), 1e30);
  for (int run = 0; run < tune.runs; ++run) {
    Profiler profiler(static_cast<int>(order.size()));
    ASHLAR_RETURN_IF_ERROR(session->Run(profiler));
    for (size_t step = 0; step < order.size() && run > 0; ++step) {
      const StepTime& time = profiler.steps()[step];
      least[step] = std::min(least[step], time.end - time.start);
    }
    if (!Stopped(tune)) continue;
    if (run == 0) return absl::OkStatus();
    break;
  }
  // A problem's nodes may run on several kernels, where the peak has no room for the one that was
  // asked for.
  struct Sum {
    double seconds = 0;
    int nodes = 0;
  };
  std::map<std::pair<int, std::string>, Sum> sums;
  for (size_t step = 0; step < order.size(); ++step) {
    const int problem = found.by_node[order[step]];
    if (problem < 0) continue;
    Sum& sum = sums[{problem, planned.kernels[order[step]]->implementation()}];
    sum.seconds += least[step];
    ++sum.nodes;
  }
  for (const auto& [tried, sum] : sums) {
    TunedProblem& problem = found.problems[tried.first];
    const double seconds = sum.seconds / sum.nodes * problem.nodes;
    for (TunedProblem::Trial& trial : problem.trials) {
      if (trial.implementation != tried.second) continue;
      trial.seconds = trial.seconds == 0 ? seconds : std::min(trial.seconds, seconds);
    }
  }
  return absl::OkStatus();
}

void Choose(int threads, TunedProblem& problem, KernelRecord& record) {
  int best = -1;
  for (size_t i = 0; i < problem.trials.size(); ++i) {
    const double seconds = problem.trials[i].seconds;
    if (seconds == 0) continue;
    if (best < 0 || seconds < problem.trials[best].seconds * kConvincing)
      best = static_cast<int>(i);
  }
  if (best < 0) return;
  problem.chosen = best;
  const std::string& implementation = problem.trials[best].implementation;
  KernelRecord::Choice& choice = record.choices[problem.key];
  choice.family = std::string(FamilyOf(implementation));
  choice.variants[threads] = implementation;
}

}  // namespace

absl::StatusOr<std::vector<TunedProblem>> Autotune(const Graph& graph, PlanRequest request,
                                                   const TuneOptions& tune, KernelRecord& record) {
  const Clock::time_point start = Clock::now();
  auto& [wishes, means, checks] = request;
  means.record = nullptr;
  means.kernels.all_candidates = true;
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned, PlanGraph(graph, request));
  const Graph& rewritten = planned->graph;
  // The passes have run: their result is planned anew for each trial. Tiles follow each other as
  // they stand in it, and are not to be cut again.
  means.passes = "none";
  if (wishes.tiled()) means.order = Order::kAsGiven;
  wishes.tiles = TileSpec();
  wishes.budget.reset();
  ASHLAR_ASSIGN_OR_RETURN(const KernelCandidates candidates,
                          FindKernels(rewritten, planned->model, *planned->device, wishes.processor,
                                      wishes.threads, means.kernels));
  // Families stay so that results do not depend on the number of threads; elsewhere all are tried.
  const KernelRecord none;
  Problems found =
      FindProblems(rewritten, KernelKeys(rewritten, planned->model, wishes.threads, means.kernels),
                   candidates, planned->device->is_host() ? record : none);
  size_t passes = 0;
  for (const TunedProblem& problem : found.problems) {
    passes = std::max(passes, problem.trials.size());
  }
  for (size_t pass = 0; pass < passes; ++pass) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > tune.seconds) break;
    if (Stopped(tune)) break;
    means.record =
        std::make_shared<KernelRecord>(RecordOfPass(found.problems, pass, wishes.threads));
    // The kernel that is expected to be best has to run; of the others some may be refused only
    // now.
    const absl::Status status = RunPass(rewritten, request, tune, found);
    if (pass == 0) ASHLAR_RETURN_IF_ERROR(status);
  }
  for (TunedProblem& problem : found.problems) Choose(wishes.threads, problem, record);
  return std::move(found.problems);
}

}  // namespace ashlar
