#include "runtime/plan/tiled_plan.h"

#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/stages.h"
#include "runtime/plan/tiling_search.h"

namespace ashlar {
namespace {

// Plans that are made for one budget, as alignment and scratch come on top of what the search
// expects.
constexpr int kMaxAttempts = 4;

constexpr double kNear = 0.85;  // points of a frontier, whose arenas differ by less

// What a planner does of strips that live side by side.
constexpr double kPlacementsPerMillisecond = 400;

// The order of the graph as it is, which tiles follow.
absl::StatusOr<Schedule> OrderOf(const Graph& graph, const Wishes& wishes, const Means& means) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(wishes.comp_node));
  const StorageModel model = BuildStorageModel(graph, StorageOn(*device, means.inplace));
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  return ScheduleNodes(means.order, graph, model, no_workspace);
}

// A planner that stops by counting, so that a spec has the same plan on every machine and whatever
// else runs there, in about the time that is allowed. Dives: exact search does not come far with
// some thousand strips.
memory::PlanOptions CountedPlanner(memory::PlanOptions planner) {
  if (planner.planner != memory::PlanOptions().planner) return planner;
  planner.planner = "dive";
  planner.limits.nodes = static_cast<int64_t>(absl::ToDoubleMilliseconds(planner.limits.time) *
                                              kPlacementsPerMillisecond);
  planner.limits.time = absl::InfiniteDuration();
  return planner;
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
  ASHLAR_ASSIGN_OR_RETURN(tiled.graph, Tile(rewritten.graph, spec, order.order, Operators()));
  report.operators_after = CountOperators(tiled.graph);
  report.arena_bytes_before = order.peak_bytes;
  const double flops = WeightFlops(rewritten.graph), all = WeightFlops(tiled.graph);
  tiled.passes = rewritten.passes;
  tiled.passes.push_back(std::move(report));
  ASHLAR_ASSIGN_OR_RETURN(
      std::unique_ptr<PlannedGraph> planned,
      PlanRewritten(std::move(tiled), request,
                    {{}, Order::kAsGiven, CountedPlanner(request.means.planner)}));
  planned->passes.back().arena_bytes_after = planned->schedule.peak_bytes;
  planned->extra_flops_ratio = flops > 0 ? all / flops - 1 : 0;
  return planned;
}

absl::StatusOr<std::vector<Tiling>> Search(const RewrittenGraph& rewritten, const Schedule& order,
                                           const Wishes& wishes) {
  TilingLimits limits;
  if (wishes.budget) limits.max_extra_flops = wishes.budget->max_extra_flops;
  ASHLAR_ASSIGN_OR_RETURN(Device * device, OpenDevice(wishes.comp_node));
  ASHLAR_ASSIGN_OR_RETURN(const ProcessorSpeed speed,
                          SpeedOf(*device, wishes.processor, wishes.threads));
  return SearchTilings(rewritten.graph, order.order, limits, speed);
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
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order,
                          OrderOf(rewritten.graph, request.wishes, request.means));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Tiling> tilings,
                          Search(rewritten, order, request.wishes));
  const int64_t budget = request.wishes.budget->bytes;
  std::unique_ptr<PlannedGraph> found, smallest;
  if (whole != nullptr && whole->plan.plan.arena <= budget) {
    found = std::move(whole);
  } else {
    smallest = std::move(whole);
  }
  // First with the fastest kernels, then with those that need little scratch.
  PlanRequest sparing = request;
  sparing.means.kernels.least_memory = true;
  for (const PlanRequest& attempt : {request, sparing}) {
    if (found != nullptr) break;
    double excess = 1;  // of plans over what the search expects
    int attempts = 0;
    for (const Tiling& tiling : tilings) {
      if (excess * static_cast<double>(tiling.arena_bytes) > static_cast<double>(budget)) continue;
      if (++attempts > kMaxAttempts) break;
      ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                              PlanSpec(rewritten, order, tiling.spec, attempt));
      const int64_t arena = planned->plan.plan.arena;
      if (arena <= budget) {
        found = std::move(planned);
        break;
      }
      excess = static_cast<double>(arena) / static_cast<double>(tiling.arena_bytes);
    }
  }
  if (found != nullptr && !request.wishes.budget->find_smallest) return found;
  // The last ones are the smallest, but for alignment.
  const size_t first = tilings.size() - std::min<size_t>(tilings.size(), 2);
  for (size_t i = tilings.size(); i-- > first;) {
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                            PlanSpec(rewritten, order, tilings[i].spec, sparing));
    if (smallest == nullptr || planned->plan.plan.arena < smallest->plan.plan.arena) {
      smallest = std::move(planned);
    }
  }
  const int64_t least = smallest->plan.plan.arena;
  if (found == nullptr &&
      (budget == 0 || least <= budget || request.wishes.budget->find_smallest)) {
    found = std::move(smallest);
  }
  if (found == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no plan fits the budget of ", budget,
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
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order,
                          OrderOf(rewritten.graph, request.wishes, request.means));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Tiling> tilings,
                          Search(rewritten, order, request.wishes));
  std::vector<std::unique_ptr<PlannedGraph>> plans;
  int64_t last = 0;
  for (const Tiling& tiling : tilings) {
    // Points that lie close together say little.
    const bool near = static_cast<double>(tiling.arena_bytes) > kNear * static_cast<double>(last);
    if (!plans.empty() && near && &tiling != &tilings.back()) continue;
    last = tiling.arena_bytes;
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                            PlanSpec(rewritten, order, tiling.spec, request));
    if (!plans.empty() && planned->plan.plan.arena >= plans.back()->plan.plan.arena) continue;
    plans.push_back(std::move(planned));
  }
  return plans;
}

}  // namespace ashlar
