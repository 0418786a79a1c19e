// Greedy descent: of the vars that are kept over the step with the peak, the one goes that frees
// most for its operations (Kusumoto et al. 2019, "A Graph Theoretic Framework of Recomputation
// Algorithms for Memory-Efficient Backpropagation", has the problem and exact methods for it).
#include "training/recompute_search.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"
#include "graph/recompute.h"
#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/schedule/arena.h"

namespace ashlar {
namespace {

constexpr size_t kTried = 6;  // vars at a time, the ones that promise most
constexpr size_t kAnchors = 8;
constexpr int kPatience = 12;      // vars that go although the peak stays
constexpr size_t kLongest = 400;   // vars in all
constexpr int kReach = 4;          // of Recompute
constexpr int kChains[] = {1, 3};  // sums in a row that are made again, in starts of the descent

// A graph with these vars made again.
struct Trial {
  MadeAgain again;
  int64_t peak = 0;
  double extra = 0;                 // operations
  std::vector<bool> over_the_peak;  // by var of the source
};

class Descent {
 public:
  Descent(const Graph& graph, double max_extra_flops)
      : graph_(graph),
        loss_(graph.outputs()[0].var),
        towards_(NodesTowards(graph, loss_)),
        cheap_(CheapToMakeAgain(graph, loss_)),
        all_(Operations(graph)),
        most_(max_extra_flops * all_) {}

  absl::StatusOr<std::vector<RecomputePoint>> Run();

 private:
  // Of operators that are not cheap.
  static double Operations(const Graph& graph);
  absl::StatusOr<Trial> Try(MadeAgain again) const;
  // The vars that go with `var`: the ones that it is made of and nobody keeps.
  std::vector<int> With(int var, const MadeAgain& again) const;
  // By promise, the most first.
  std::vector<std::vector<int>> Candidates(const Trial& now) const;
  bool IsReadBehind(int var) const;
  // Cheap vars whose copies take operations that are not: kept, they end chains. The longest first.
  std::vector<int> Anchors(const MadeAgain& again) const;
  // The best step on; empty where there is none.
  absl::StatusOr<std::optional<Trial>> Next(const Trial& now) const;
  // What is cheap, but of what is made through others that are read behind, residual sums, no more
  // than `longest` in a row.
  MadeAgain InShortChains(int longest) const;
  // The trial without what its peak does not ask for, the most operations first.
  absl::StatusOr<Trial> Pruned(Trial trial) const;
  absl::Status From(const MadeAgain& start);
  // By operations; none needs more memory and more operations than another one.
  void KeepTheBest();
  RecomputePoint PointOf(const Trial& trial) const;

  const Graph& graph_;
  const int loss_;
  const std::vector<bool> towards_;
  const MadeAgain cheap_;
  const double all_, most_;
  std::vector<Trial> trials_;  // the least peaks of each descent
};

double Descent::Operations(const Graph& graph) {
  double sum = 0;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() != Role::kCompute || node.outputs.empty()) continue;
    if (IsCheap(graph, node.outputs[0])) continue;
    sum += static_cast<double>(node.op->Computation(graph.SiteOf(node)));
  }
  return sum;
}

absl::StatusOr<Trial> Descent::Try(MadeAgain again) const {
  ASHLAR_ASSIGN_OR_RETURN(const Graph made, Recompute(graph_, loss_, again, kReach));
  Trial trial;
  trial.extra = Operations(made) - all_;
  const StorageModel model = BuildStorageModel(made, {});
  ArenaSimulator arena(made, model, std::vector<int64_t>(made.nodes().size(), 0));
  int at = 0;
  for (size_t n = 0; n < made.nodes().size(); ++n) {
    if (!model.scheduled[n]) continue;
    const int64_t bytes = arena.Run(static_cast<int>(n));
    if (bytes <= trial.peak) continue;
    trial.peak = bytes;
    at = static_cast<int>(n);
  }
  absl::flat_hash_map<int, bool> over;  // by id
  for (size_t v = 0; v < made.vars().size(); ++v) {
    const std::vector<int>& readers = made.readers(static_cast<int>(v));
    over[made.var(static_cast<int>(v)).id] =
        made.var(static_cast<int>(v)).producer < at && !readers.empty() && readers.back() > at;
  }
  for (const Var& var : graph_.vars()) trial.over_the_peak.push_back(over[var.id]);
  trial.again = std::move(again);
  return trial;
}

bool Descent::IsReadBehind(int var) const {
  const std::vector<int>& readers = graph_.readers(var);
  return std::any_of(readers.begin(), readers.end(),
                     [&](int reader) { return !towards_[static_cast<size_t>(reader)]; });
}

std::vector<int> Descent::With(int var, const MadeAgain& again) const {
  std::vector<int> vars = {var};
  for (size_t i = 0; i < vars.size(); ++i) {
    const OperatorNode& node = graph_.node(graph_.var(vars[i]).producer);
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const int input = node.inputs[k];
      const bool on_device = node.op->input_use(static_cast<int>(k)) == InputUse::kDeviceValue;
      if (!on_device || IsReadBehind(input) || again[input] || !CanMakeAgain(graph_, input))
        continue;
      if (std::find(vars.begin(), vars.end(), input) == vars.end()) vars.push_back(input);
    }
  }
  return vars;
}

std::vector<std::vector<int>> Descent::Candidates(const Trial& now) const {
  struct Candidate {
    std::vector<int> vars;
    double promise = 0;
  };
  std::vector<Candidate> candidates;
  for (size_t v = 0; v < graph_.vars().size(); ++v) {
    const int var = static_cast<int>(v);
    // A cheap var that is kept ends a chain, and stays.
    if (!now.over_the_peak[v] || now.again[v] || cheap_[v] || var == loss_) continue;
    if (!towards_[graph_.var(var).producer] || !CanMakeAgain(graph_, var)) continue;
    Candidate candidate{With(var, now.again)};
    double operations = 1;
    for (const int made : candidate.vars) {
      const OperatorNode& node = graph_.node(graph_.var(made).producer);
      operations += static_cast<double>(node.op->Computation(graph_.SiteOf(node)));
    }
    candidate.promise = static_cast<double>(graph_.var(var).type.bytes()) / operations;
    candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.promise > b.promise; });
  std::vector<std::vector<int>> vars;
  for (Candidate& candidate : candidates) vars.push_back(std::move(candidate.vars));
  return vars;
}

RecomputePoint Descent::PointOf(const Trial& trial) const {
  RecomputePoint point;
  point.spec.cheap = true;
  for (size_t v = 0; v < trial.again.size(); ++v) {
    if (trial.again[v] == cheap_[v]) continue;
    const int id = graph_.node(graph_.var(static_cast<int>(v)).producer).id;
    (trial.again[v] ? point.spec.nodes : point.spec.kept).push_back(id);
  }
  point.peak_bytes = trial.peak;
  point.extra_flops = trial.extra / std::max(all_, 1.0);
  return point;
}

std::vector<int> Descent::Anchors(const MadeAgain& again) const {
  struct Anchor {
    int var = 0;
    size_t chain = 0;
  };
  std::vector<Anchor> anchors;
  for (size_t v = 0; v < graph_.vars().size(); ++v) {
    const int var = static_cast<int>(v);
    if (!again[v] || !IsCheap(graph_, var) || !IsReadBehind(var)) continue;
    std::vector<int> chain = {var};
    bool costs = false;
    for (size_t i = 0; i < chain.size(); ++i) {
      costs = costs || !IsCheap(graph_, chain[i]);
      for (const int input : graph_.node(graph_.var(chain[i]).producer).inputs) {
        if (!again[static_cast<size_t>(input)]) continue;
        if (std::find(chain.begin(), chain.end(), input) == chain.end()) chain.push_back(input);
      }
    }
    if (costs) anchors.push_back({var, chain.size()});
  }
  std::stable_sort(anchors.begin(), anchors.end(),
                   [](const Anchor& a, const Anchor& b) { return a.chain > b.chain; });
  std::vector<int> vars;
  for (const Anchor& anchor : anchors) vars.push_back(anchor.var);
  if (vars.size() > kAnchors) vars.resize(kAnchors);
  return vars;
}

absl::StatusOr<std::optional<Trial>> Descent::Next(const Trial& now) const {
  std::vector<std::vector<int>> candidates = Candidates(now);
  if (candidates.size() > kTried) candidates.resize(kTried);
  std::optional<Trial> best;
  double best_gain = -1;
  const auto consider = [&](MadeAgain again) -> absl::Status {
    ASHLAR_ASSIGN_OR_RETURN(Trial trial, Try(std::move(again)));
    if (trial.extra > most_) return absl::OkStatus();
    const double gain = static_cast<double>(std::max<int64_t>(now.peak - trial.peak, 0)) /
                        std::max(trial.extra - now.extra, 1.0);
    if (gain <= best_gain) return absl::OkStatus();
    best_gain = gain;
    best = std::move(trial);
    return absl::OkStatus();
  };
  const auto without = [&](MadeAgain again, int anchor) {
    again[static_cast<size_t>(anchor)] = false;
    return again;
  };
  std::vector<MadeAgain> first;
  for (const std::vector<int>& vars : candidates) {
    first.push_back(now.again);
    for (const int var : vars) first.back()[static_cast<size_t>(var)] = true;
    ASHLAR_RETURN_IF_ERROR(consider(first.back()));
  }
  for (const int anchor : Anchors(now.again)) {
    ASHLAR_RETURN_IF_ERROR(consider(without(now.again, anchor)));
  }
  if (best_gain > 0) return best;
  for (const MadeAgain& again : first) {
    for (const int anchor : Anchors(again)) {
      ASHLAR_RETURN_IF_ERROR(consider(without(again, anchor)));
    }
  }
  return best;
}

MadeAgain Descent::InShortChains(int longest) const {
  MadeAgain again = cheap_;
  std::vector<int> before(again.size(), 0);  // what is read behind, too, of what a copy is made of
  for (size_t v = 0; v < again.size(); ++v) {
    if (!again[v]) continue;
    const int var = static_cast<int>(v);
    for (const int input : graph_.node(graph_.var(var).producer).inputs) {
      const auto in = static_cast<size_t>(input);
      if (again[in]) before[v] = std::max(before[v], before[in] + (IsReadBehind(input) ? 1 : 0));
    }
    again[v] = before[v] < longest || !IsReadBehind(var);
    if (!again[v]) before[v] = 0;
  }
  return again;
}

absl::StatusOr<Trial> Descent::Pruned(Trial trial) const {
  std::vector<std::pair<int64_t, int>> made;  // operations, var
  for (size_t v = 0; v < trial.again.size(); ++v) {
    const int var = static_cast<int>(v);
    if (!trial.again[v] || cheap_[v]) continue;
    const OperatorNode& node = graph_.node(graph_.var(var).producer);
    made.emplace_back(-node.op->Computation(graph_.SiteOf(node)), var);
  }
  std::sort(made.begin(), made.end());
  for (const auto& [operations, var] : made) {
    MadeAgain again = trial.again;
    again[static_cast<size_t>(var)] = false;
    ASHLAR_ASSIGN_OR_RETURN(Trial without, Try(std::move(again)));
    if (without.peak <= trial.peak && without.extra <= trial.extra) trial = std::move(without);
  }
  return trial;
}

absl::Status Descent::From(const MadeAgain& start) {
  ASHLAR_ASSIGN_OR_RETURN(Trial now, Try(start));
  trials_.push_back(now);
  int64_t least = now.peak;
  int patience = kPatience;
  for (size_t gone = 0; gone < kLongest && patience > 0; ++gone) {
    ASHLAR_ASSIGN_OR_RETURN(std::optional<Trial> next, Next(now));
    if (!next) break;
    now = *std::move(next);
    patience = now.peak < least ? kPatience : patience - 1;
    if (now.peak < least) trials_.push_back(now);
    least = std::min(least, now.peak);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RecomputePoint>> Descent::Run() {
  ASHLAR_ASSIGN_OR_RETURN(const Trial nothing, Try(MadeAgain(graph_.vars().size(), false)));
  ASHLAR_RETURN_IF_ERROR(From(cheap_));
  for (const int longest : kChains) ASHLAR_RETURN_IF_ERROR(From(InShortChains(longest)));
  KeepTheBest();
  for (Trial& trial : trials_) {
    ASHLAR_ASSIGN_OR_RETURN(trial, Pruned(std::move(trial)));
  }
  KeepTheBest();
  std::vector<RecomputePoint> points = {{{}, nothing.peak, 0}};
  for (const Trial& trial : trials_) {
    if (trial.peak < nothing.peak) points.push_back(PointOf(trial));
  }
  return points;
}

void Descent::KeepTheBest() {
  std::stable_sort(trials_.begin(), trials_.end(), [](const Trial& a, const Trial& b) {
    return std::tie(a.extra, a.peak) < std::tie(b.extra, b.peak);
  });
  std::vector<Trial> best;
  for (Trial& trial : trials_) {
    if (best.empty() || trial.peak < best.back().peak) best.push_back(std::move(trial));
  }
  trials_ = std::move(best);
}

}  // namespace

absl::StatusOr<std::vector<RecomputePoint>> RecomputeFrontier(const Graph& step,
                                                              double max_extra_flops) {
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, NormsInHalves(step));
  return Descent(graph, max_extra_flops).Run();
}

absl::StatusOr<FittedStep> FitStep(const Graph& step, int64_t budget, double max_extra_flops,
                                   const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<RecomputePoint> points,
                          RecomputeFrontier(step, max_extra_flops));
  const auto planned = [&](size_t i) -> absl::StatusOr<FittedStep> {
    FittedStep fitted{{}, points[i]};
    ASHLAR_ASSIGN_OR_RETURN(fitted.graph, RecomputeStep(step, points[i].spec));
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> plan,
                            PlanGraph(fitted.graph, request));
    fitted.arena_bytes = plan->plan.plan.arena;
    return fitted;
  };
  // Plans may need less than their points say, and more: from the first that should fit on towards
  // less memory, and where that one fits, back towards fewer operations.
  size_t first = 0;
  while (first + 1 < points.size() && points[first].peak_bytes > budget) ++first;
  ASHLAR_ASSIGN_OR_RETURN(FittedStep best, planned(first));
  if (best.arena_bytes <= budget) {
    while (first > 0) {
      ASHLAR_ASSIGN_OR_RETURN(FittedStep other, planned(--first));
      if (other.arena_bytes > budget) break;
      best = std::move(other);
    }
    return best;
  }
  for (size_t i = first + 1; i < points.size() && best.arena_bytes > budget; ++i) {
    ASHLAR_ASSIGN_OR_RETURN(FittedStep other, planned(i));
    if (other.arena_bytes < best.arena_bytes) best = std::move(other);
  }
  if (budget == 0 || best.arena_bytes <= budget) return best;
  return DoesNotFit(absl::StrCat("a step does not fit: the arena may have ", budget,
                                 " bytes, the smallest that was found has ", best.arena_bytes),
                    best.arena_bytes);
}

}  // namespace ashlar
