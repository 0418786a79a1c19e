// Nested search (training/recompute_nested.h), then local search over whole steps: one or two
// neighbouring choices of a known solution change (Pareto local search: Paquete et al. 2004,
// "Pareto Local Optimum Sets in the Biobjective Traveling Salesman Problem").
#include "training/recompute_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"
#include "graph/recompute_choice.h"
#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"
#include "training/recompute_nested.h"
#include "training/recompute_trials.h"

namespace ashlar {
namespace {

constexpr double kGrain =
    0.001;  // resolution: of solutions closer than this share of the step's operations one is kept
constexpr int64_t kTries = 30000;        // limit of the local search
constexpr int64_t kTiledWork = 4000000;  // limit if tiled: nodes examined
constexpr size_t kLastPlans = 2;  // plan these, and use the smallest, because workspaces differ
constexpr size_t kNear = 2;       // most stages between two choices that change together

class Search {
 public:
  Search(const Graph& graph, double max_extra_flops, const TilesOfStep& tiles,
         const std::stop_token& stop)
      : graph_(graph),
        stop_(stop),
        tiles_(tiles),
        trials_(graph, graph.outputs()[0].var, tiles.parts),
        untiled_(tiled() ? tiles.operations : trials_.step_operations()),
        most_((1 + max_extra_flops) * untiled_ - trials_.step_operations()) {}

  // Returns the points. `kept`: the peak without recomputation.
  std::vector<RecomputePoint> Run(int64_t kept);

 private:
  struct Found {
    StageMasks masks;
    RecomputeTrials::Whole cost;
    bool one_changed = false, two_changed = false;  // all changes were tried
  };
  // By extra operations, in grains; a later one has a smaller peak.
  using Archive = std::map<int64_t, Found>;

  bool tiled() const { return !tiles_.parts.empty(); }
  int64_t GrainsOf(double operations) const {
    return static_cast<int64_t>(std::ceil(operations / std::max(untiled_, 1.0) / kGrain));
  }
  double ExtraOf(double again) const {
    return (trials_.step_operations() - untiled_ + again) / std::max(untiled_, 1.0);
  }
  // Toggles a choice: the usual number of times if it is saved, otherwise 0.
  uint32_t OtherTimes(uint32_t mask, size_t stage, size_t choice) const {
    return TimesIn(mask, choice) != 0 ? 0 : UsualTimes(trials_.stages()[stage].choices[choice]);
  }
  void Consider(const StageMasks& masks);
  void ChangeOne(const StageMasks& masks);
  void ChangeTwo(const StageMasks& masks);
  void ChangeAll();
  RecomputePoint PointOf(const Found& found);

  const Graph& graph_;
  const std::stop_token& stop_;
  const TilesOfStep& tiles_;
  RecomputeTrials trials_;
  const double untiled_;  // operations of the untiled step
  const double most_;     // most recomputed operations
  Archive archive_;
};

void Search::Consider(const StageMasks& masks) {
  memory::ThrowIfStopped(stop_);
  const RecomputeTrials::Whole cost = trials_.Try(masks);
  if (cost.operations > most_) return;
  const int64_t grains = GrainsOf(cost.operations);
  auto behind = archive_.upper_bound(grains);
  if (behind != archive_.begin()) {
    const Found& before = std::prev(behind)->second;
    if (before.cost.peak < cost.peak ||
        (before.cost.peak == cost.peak && before.cost.operations <= cost.operations)) {
      return;
    }
  }
  while (behind != archive_.end() && behind->second.cost.peak >= cost.peak) {
    behind = archive_.erase(behind);
  }
  archive_[grains] = {masks, cost};
}

// Changes each choice: toggled, once more, once less, or the most times.
void Search::ChangeOne(const StageMasks& masks) {
  StageMasks changed = masks;
  for (size_t s = 0; s < changed.size(); ++s) {
    const uint32_t mask = changed[s];
    for (size_t k = 0; k < trials_.stages()[s].choices.size(); ++k) {
      const uint32_t times = TimesIn(mask, k), other = OtherTimes(mask, s, k);
      for (uint32_t next = 0; next <= kTimesAnew; ++next) {
        const bool counted = std::max(times, next) <= kMostTimes && next != times;
        const bool near = next == times + 1 || next + 1 == times || next == kMostTimes;
        if (next != other && !(counted && near)) continue;
        changed[s] = WithTimes(mask, k, next);
        Consider(changed);
      }
    }
    changed[s] = mask;
  }
}

void Search::ChangeTwo(const StageMasks& masks) {
  StageMasks changed = masks;
  for (size_t s = 0; s < changed.size(); ++s) {
    for (size_t k = 0; k < trials_.stages()[s].choices.size(); ++k) {
      const uint32_t one = changed[s];
      changed[s] = WithTimes(one, k, OtherTimes(one, s, k));
      for (size_t t = s; t < std::min(changed.size(), s + kNear + 1); ++t) {
        for (size_t j = t == s ? k + 1 : 0; j < trials_.stages()[t].choices.size(); ++j) {
          const uint32_t two = changed[t];
          changed[t] = WithTimes(two, j, OtherTimes(two, t, j));
          Consider(changed);
          changed[t] = two;
        }
      }
      changed[s] = one;
    }
  }
}

// Changes one choice at a time until that finds nothing, then two.
void Search::ChangeAll() {
  // Tiled steps have many nodes.
  const auto nodes = static_cast<int64_t>(graph_.nodes().size());
  const int64_t last = trials_.tries() + (tiled() ? std::min(kTries, kTiledWork / nodes) : kTries);
  while (trials_.tries() < last) {
    const auto open = std::find_if(archive_.begin(), archive_.end(),
                                   [](const auto& found) { return !found.second.one_changed; });
    if (open != archive_.end()) {
      open->second.one_changed = true;
      ChangeOne(StageMasks(open->second.masks));
      continue;
    }
    const auto next = std::find_if(archive_.rbegin(), archive_.rend(),
                                   [](const auto& found) { return !found.second.two_changed; });
    if (next == archive_.rend()) return;
    next->second.two_changed = true;
    ChangeTwo(StageMasks(next->second.masks));
  }
}

RecomputePoint Search::PointOf(const Found& found) {
  RecomputePoint point;
  point.spec.cheap = true;
  std::set<int> said;
  const MadeAgain again = trials_.Again(found.masks);
  for (size_t v = 0; v < again.size(); ++v) {
    if (again[v] == trials_.cheap()[v]) continue;
    const int id = IdOfWhole(graph_.node(graph_.var(static_cast<int>(v)).producer), tiles_.parts);
    if (!said.insert(id).second) continue;  // another tile of the same node
    if (again[v] == kKept) {
      point.spec.kept.push_back(id);
    } else {
      const bool usual = again[v] == kOnce && !IsCheap(graph_, static_cast<int>(v));
      point.spec.nodes.push_back({id, usual ? kAnew : again[v]});
    }
  }
  point.peak_bytes = trials_.PeakOf(again);
  point.extra_flops = ExtraOf(found.cost.operations);
  return point;
}

std::vector<RecomputePoint> Search::Run(int64_t kept) {
  if (tiled()) {  // stages are not cut within tiles
    Consider(StageMasks(trials_.stages().size(), 0));
    Consider(trials_.AllChoices());
  } else {
    for (const StageMasks& masks : NestedSearch(trials_, most_)) Consider(masks);
  }
  ChangeAll();
  std::vector<RecomputePoint> points = {
      {{}, kept, ExtraOf(0)}, {{true, {}, {}}, trials_.PeakOf(trials_.cheap()), ExtraOf(0)}};
  if (points[1].peak_bytes >= points[0].peak_bytes) points.pop_back();
  for (const auto& [grains, found] : archive_) {
    RecomputePoint point = PointOf(found);
    if (point.peak_bytes < points.back().peak_bytes) points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

double StepOperations(const Graph& step) {
  double operations = 0;
  for (const OperatorNode& node : step.nodes()) operations += OperationsOf(step, node);
  return operations;
}

absl::StatusOr<std::vector<RecomputePoint>> RecomputeFrontier(const Graph& step,
                                                              double max_extra_flops,
                                                              const TilesOfStep& tiles,
                                                              const std::stop_token& stop) {
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, NormsInHalves(step));
  const StorageModel model = BuildStorageModel(step, {});
  const std::vector<int64_t> none(step.nodes().size(), 0);
  const int64_t kept = ScheduleAsGiven(step, model, none).peak_bytes;
  return memory::CancelledIfStopped([&]() -> absl::StatusOr<std::vector<RecomputePoint>> {
    return Search(graph, max_extra_flops, tiles, stop).Run(kept);
  });
}

absl::StatusOr<FittedStep> FitStep(const Graph& step, int64_t budget, double max_extra_flops,
                                   const PlanRequest& request, const TilesOfStep& tiles) {
  const auto plan_point = [&](const RecomputePoint& point) -> absl::StatusOr<FittedStep> {
    FittedStep fitted{{}, point};
    ASHLAR_ASSIGN_OR_RETURN(fitted.graph, RecomputeStep(step, point.spec, tiles.parts));
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> plan,
                            PlanGraph(fitted.graph, request));
    fitted.arena_bytes = plan->plan.plan.arena;
    fitted.predicted_ms = plan->predicted_ms;
    return fitted;
  };
  // First tries no recomputation, then cheap recomputation. Neither adds operations of operators
  // that are not cheap, so a search cannot find fewer.
  for (const bool cheap : {false, true}) {
    if (budget <= 0 || !tiles.parts.empty()) break;
    RecomputePoint point;
    point.spec.cheap = cheap;
    ASHLAR_ASSIGN_OR_RETURN(FittedStep fitted, plan_point(point));
    fitted.point.peak_bytes = fitted.arena_bytes;
    if (fitted.arena_bytes <= budget) return fitted;
  }
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<RecomputePoint> points,
      RecomputeFrontier(step, max_extra_flops, tiles, request.planning.planner.limits.stop));
  const auto planned = [&](size_t i) { return plan_point(points[i]); };
  // Plans may need less than their points predict, or more. Starts at the first point that should
  // fit, moves towards less memory until a plan fits, then back towards fewer operations.
  size_t first = 0;
  while (first + (budget > 0 ? 1 : kLastPlans) < points.size() &&
         points[first].peak_bytes > budget) {
    ++first;
  }
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
