#include "runtime/plan/tiled_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/stages.h"
#include "runtime/plan/tiling_search.h"

namespace ashlar {
namespace {

// Points of a frontier, whose arenas differ by less, say little.
constexpr double kNear = 0.85;
// Plans made for the smallest one. What they need at least is known before, so few are enough.
constexpr int kMostSmall = 24;
// Of them, so many are planned with all of the planner's work.
constexpr size_t kFinalists = 2;
// Of the planner's work, one part in so many goes to a plan that is made for comparison.
constexpr int64_t kTryWork = 8;
// How far the time of a plan may be from what the search, part by part, expects of its tiling.
constexpr double kTimeError = 0.01;

// The order of the graph as it is, which tiles follow.
absl::StatusOr<Schedule> OrderOf(const Graph& graph, const Wishes& wishes, const Means& means) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(wishes.comp_node));
  const StorageModel model = BuildStorageModel(graph, StorageOn(*device, means.inplace));
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  return ScheduleNodes(means.order, graph, model, no_workspace);
}

// Tiles the graph and plans it in the order in which the tiles stand; `order` is of the graph
// before.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanSpec(const RewrittenGraph& rewritten,
                                                       const Schedule& order, const TileSpec& spec,
                                                       PlanRequest request) {
  request.wishes.tiles = spec;
  if (spec.empty()) return PlanRewritten(rewritten, request, ArrangementOf(request.means));
  PassReport report;
  report.name = "tile";
  report.operators_before = CountOperators(rewritten.graph);
  RewrittenGraph tiled;
  absl::StatusOr<Graph> tiles = Tile(rewritten.graph, spec, order.order, Operators());
  if (!tiles.ok()) {
    absl::Status error = Annotate(tiles.status(), absl::StrCat("tiles '", spec.ToString(), "'"));
    error.SetPayload(kNoSuchTiles, absl::Cord());
    return error;
  }
  tiled.graph = *std::move(tiles);
  report.operators_after = CountOperators(tiled.graph);
  report.arena_bytes_before = order.peak_bytes;
  const double flops = WeightFlops(rewritten.graph), all = WeightFlops(tiled.graph);
  tiled.passes = rewritten.passes;
  tiled.passes.push_back(std::move(report));
  ASHLAR_ASSIGN_OR_RETURN(
      std::unique_ptr<PlannedGraph> planned,
      PlanRewritten(std::move(tiled), request, {{}, Order::kAsGiven, request.means.planner}));
  planned->passes.back().arena_bytes_after = planned->schedule.peak_bytes;
  planned->extra_flops_ratio = flops > 0 ? all / flops - 1 : 0;
  return planned;
}

// Plans of tilings of one graph, made when they are asked for. Equal questions have equal answers:
// what fits a budget does not depend on the budget.
class TiledPlans {
 public:
  static absl::StatusOr<std::unique_ptr<TiledPlans>> Create(const RewrittenGraph& rewritten,
                                                            const PlanRequest& request) {
    std::unique_ptr<TiledPlans> plans(new TiledPlans(rewritten, request));
    const Wishes& wishes = request.wishes;
    ASHLAR_ASSIGN_OR_RETURN(plans->order_, OrderOf(rewritten.graph, wishes, request.means));
    ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(wishes.comp_node));
    const ProcessorSpeed speed = SpeedOf(*device, wishes.processor, wishes.threads);
    TilingLimits limits;
    if (wishes.budget) limits.max_extra_flops = wishes.budget->max_extra_flops;
    ASHLAR_ASSIGN_OR_RETURN(plans->tilings_,
                            SearchTilings(rewritten.graph, plans->order_.order, limits, speed));
    return plans;
  }

  const FoundTilings& tilings() const { return tilings_; }
  // The kinds of plans of one tiling, as arguments `sparing`: one where sparing kernels are asked
  // for.
  std::vector<bool> kinds() const {
    return request_.means.kernels.least_memory ? std::vector{true} : std::vector{false, true};
  }

  // With the fastest kernels, or with those that need little workspace.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Plan(const Tiling& tiling, bool sparing) {
    return Plan(tiling, sparing, request_.means.planner.limits.work);
  }
  // The same with a part of the planner's work: for what may be none of those that are wanted.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Try(const Tiling& tiling, bool sparing) {
    return Plan(tiling, sparing, request_.means.planner.limits.work / kTryWork);
  }

 private:
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Plan(const Tiling& tiling, bool sparing,
                                                     int64_t work) {
    PlanRequest request = request_;
    request.means.kernels.least_memory |= sparing;
    request.means.planner.limits.work = work;
    return PlanSpec(rewritten_, order_, tiling.spec, request);
  }

  TiledPlans(const RewrittenGraph& rewritten, const PlanRequest& request)
      : rewritten_(rewritten), request_(request) {}

  const RewrittenGraph& rewritten_;
  const PlanRequest& request_;
  Schedule order_;
  FoundTilings tilings_;
};

// The fastest that fits; null where none does.
absl::StatusOr<std::unique_ptr<PlannedGraph>> FastestWithin(int64_t budget, TiledPlans& plans) {
  std::unique_ptr<PlannedGraph> fastest;
  double enough = std::numeric_limits<double>::infinity();
  for (const Tiling& tiling : plans.tilings().best) {
    if (tiling.arena_bytes > budget) continue;
    if (tiling.ms > enough) break;
    for (const bool sparing : plans.kinds()) {
      ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned, plans.Plan(tiling, sparing));
      if (planned->plan.plan.arena > budget) continue;
      if (fastest == nullptr || planned->predicted_ms < fastest->predicted_ms) {
        fastest = std::move(planned);
        enough = fastest->predicted_ms * (1 + kTimeError);
      }
      break;
    }
  }
  return fastest;
}

// The smallest of all; of equals with the fastest kernels.
absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(TiledPlans& plans) {
  const std::vector<Tiling>& tilings = plans.tilings().smallest;
  std::vector<std::pair<int64_t, const Tiling*>> tried;  // by arena
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Tiling& tiling : tilings) {
    // No plan is smaller than what lives in it at once.
    if (tiling.arena_bytes >= least || static_cast<int>(tried.size()) == kMostSmall) break;
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned,
                            plans.Try(tiling, /*sparing=*/true));
    if (planned->plan.lower_bound >= least) continue;
    tried.push_back({planned->plan.plan.arena, &tiling});
    least = std::min(least, planned->plan.plan.arena);
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (tried.size() > kFinalists) tried.resize(kFinalists);
  std::unique_ptr<PlannedGraph> smallest;
  for (const auto& [arena, tiling] : tried) {
    for (const bool sparing : plans.kinds()) {
      ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned, plans.Plan(*tiling, sparing));
      if (smallest != nullptr && planned->plan.plan.arena >= smallest->plan.plan.arena) continue;
      smallest = std::move(planned);
    }
  }
  return smallest;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiled(const RewrittenGraph& rewritten,
                                                        const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order,
                          OrderOf(rewritten.graph, request.wishes, request.means));
  return PlanSpec(rewritten, order, request.wishes.tiles, request);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinBudget(
    const RewrittenGraph& rewritten, const PlanRequest& request,
    std::unique_ptr<PlannedGraph> whole) {
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TiledPlans> plans,
                          TiledPlans::Create(rewritten, request));
  const MemoryBudget& budget = *request.wishes.budget;
  std::unique_ptr<PlannedGraph> found;
  if (whole != nullptr && whole->plan.plan.arena <= budget.bytes) {
    found = std::move(whole);
  } else if (budget.bytes > 0) {
    ASHLAR_ASSIGN_OR_RETURN(found, FastestWithin(budget.bytes, *plans));
  }
  if (found != nullptr && !budget.find_smallest) return found;
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest, SmallestOf(*plans));
  if (whole != nullptr && whole->plan.plan.arena < smallest->plan.plan.arena) {
    smallest = std::move(whole);
  }
  const int64_t least = smallest->plan.plan.arena;
  if (found == nullptr && (budget.bytes == 0 || least <= budget.bytes || budget.find_smallest)) {
    found = std::move(smallest);
  }
  if (found == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no plan fits the budget of ", budget.bytes,
                     " bytes; the smallest budget that would do is ", least));
  }
  found->smallest_budget = std::min(least, found->plan.plan.arena);
  return found;
}

absl::StatusOr<std::vector<TiledPart>> DescribeTiledGraph(Graph& graph, const Wishes& wishes,
                                                          const Means& means) {
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(std::move(graph), wishes, means, {.tiled = true}));
  graph = std::move(rewritten.graph);
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order, OrderOf(graph, wishes, means));
  return DescribeTiles(graph, wishes.tiles, order.order, Operators());
}

absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> PlanFrontier(
    Graph graph, const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const RewrittenGraph rewritten,
                          RewriteGraph(std::move(graph), request.wishes, request.means,
                                       {true, request.checks.measure_passes}));
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TiledPlans> plans,
                          TiledPlans::Create(rewritten, request));
  std::vector<std::unique_ptr<PlannedGraph>> points;
  int64_t last = std::numeric_limits<int64_t>::max();
  for (const Tiling& tiling : plans->tilings().best) {
    if (static_cast<double>(tiling.arena_bytes) > kNear * static_cast<double>(last)) continue;
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                            plans->Plan(tiling, /*sparing=*/false));
    if (planned->plan.plan.arena >= last) continue;
    last = planned->plan.plan.arena;
    points.push_back(std::move(planned));
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest, SmallestOf(*plans));
  if (smallest->plan.plan.arena < last) points.push_back(std::move(smallest));
  return points;
}

}  // namespace ashlar
