#include "runtime/plan/tiling/tiled_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/needed_bytes.h"
#include "graph/region.h"
#include "graph/status.h"
#include "opr/table.h"
#include "runtime/plan/stages/panels.h"
#include "runtime/plan/stages/stages.h"
#include "runtime/plan/tiling/needless_tiles.h"
#include "runtime/plan/tiling/smallest_plan.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {
namespace {

// Points of a frontier differ in their arenas by at least this factor.
constexpr double kNear = 0.85;
// Groups of channels of the widest row (PlanningOptions::group_bytes).
constexpr int64_t kGroups = 4;
// How far the time of a plan may be from the estimate of its tiling, which adds up segments.
constexpr double kTimeError = 0.01;

// Returns the fastest plan that fits, or null.
absl::StatusOr<std::unique_ptr<PlannedGraph>> FastestWithin(int64_t budget, TiledPlans& plans) {
  std::unique_ptr<PlannedGraph> fastest;
  double enough = std::numeric_limits<double>::infinity();
  for (const Tiling& tiling : plans.tilings().best) {
    if (tiling.arena_bytes > budget) continue;
    if (tiling.ms > enough) break;
    std::vector<TiledPlans::Candidate> candidates;
    for (const bool low_workspace : plans.kinds()) candidates.push_back({&tiling, low_workspace});
    ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan(candidates));
    // The fast kernels come first.
    const auto fits = std::find_if(planned.begin(), planned.end(), [&](const auto& plan) {
      return plan != nullptr && plan->plan.plan.arena <= budget;
    });
    if (fits == planned.end()) continue;
    if (fastest == nullptr || (*fits)->predicted_ms < fastest->predicted_ms) {
      fastest = std::move(*fits);
      enough = fastest->predicted_ms * (1 + kTimeError);
    }
  }
  return fastest;
}

// Plans the graph untiled, rewritten for untiled execution. `low_workspace`: with the kernels that
// need the least memory.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanUntiled(const Graph& graph, PlanRequest request,
                                                          bool low_workspace) {
  request.planning.kernels.low_workspace |= low_workspace;
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(Graph(graph), request.target, request.planning,
                                       {.measure_passes = request.debug.measure_passes}));
  return PlanRewritten(std::move(rewritten), request, ArrangementOf(request.planning));
}

constexpr absl::string_view kSum = "sum", kLayout = "layout";  // passes

// Returns whether the pass kSum changed the graph.
bool HasSums(const RewrittenGraph& rewritten) {
  return std::any_of(rewritten.passes.begin(), rewritten.passes.end(), [](const PassReport& pass) {
    return pass.name == kSum && pass.operators_after < pass.operators_before;
  });
}

// Returns whether images have blocks of channels that are not full.
bool HasPadding(const Graph& graph) {
  return std::any_of(graph.vars().begin(), graph.vars().end(), [](const Var& var) {
    return IsBlocked(var.type.format) && var.type.shape[1] % kChannelBlock != 0;
  });
}

// Returns the smallest plan of a graph, rewritten for tiles with and without certain passes. These
// passes usually reduce the peak, but not always:
// - sums of integers in convolutions: separate tensors may be placed better, by a few percent;
// - blocks of channels: padding takes memory.
// And with wide convolutions in groups of channels, which takes more operators.
// Returns the smallest untiled plan if the graph has no tiles.
absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestEitherWay(const Graph& graph,
                                                                const RewrittenGraph& rewritten,
                                                                const PlanRequest& request) {
  std::vector<PlanRequest> others;
  const auto add_without = [&](absl::string_view pass) -> absl::Status {
    PlanRequest& other = others.emplace_back(request);
    ASHLAR_ASSIGN_OR_RETURN(other.planning.passes, PassesWithout(request.planning.passes, pass));
    return absl::OkStatus();
  };
  if (HasSums(rewritten)) ASHLAR_RETURN_IF_ERROR(add_without(kSum));
  if (HasPadding(rewritten.graph)) ASHLAR_RETURN_IF_ERROR(add_without(kLayout));
  const int64_t widest = WidestGroupRow(rewritten.graph, Operators());
  if (widest > 0 && request.planning.group_bytes == 0) {
    others.emplace_back(request).planning.group_bytes = CeilDivide(widest, kGroups);
  }
  std::vector<RewrittenGraph> graphs;
  for (const PlanRequest& other : others) {
    ASHLAR_ASSIGN_OR_RETURN(graphs.emplace_back(),
                            RewriteGraph(Graph(graph), other.target, other.planning,
                                         {true, other.debug.measure_passes}));
  }
  std::vector<std::unique_ptr<TiledPlans>> plans(1 + others.size());
  ASHLAR_ASSIGN_OR_RETURN(plans[0], TiledPlans::Create(rewritten, request));
  for (size_t i = 0; i < others.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(plans[1 + i], TiledPlans::Create(graphs[i], others[i]));
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest,
                          SmallestOf(graph, plans, plans[0]->max_extra_flops()));
  if (smallest == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(smallest, plans[0]->PlanUntiled(plans[0]->kinds().back()));
  }
  smallest->searched = 1 + static_cast<int>(others.size());
  return smallest;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiled(const RewrittenGraph& rewritten,
                                                        const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order,
                          OrderOf(rewritten.graph, request.target, request.planning));
  ASHLAR_ASSIGN_OR_RETURN(TiledGraph tiled, TileRewritten(rewritten, order, request.target.tiles));
  return PlanTiles(std::move(tiled), request.target.tiles, request, Thoroughness::kChosen);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinBudget(const Graph& graph,
                                                               const RewrittenGraph& rewritten,
                                                               const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TiledPlans> plans,
                          TiledPlans::Create(rewritten, request));
  const auto& [target, planning, debug] = request;
  const MemoryBudget& budget = *target.budget;
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(target.comp_node));
  std::unique_ptr<PlannedGraph> found;
  std::shared_ptr<PlannedGraph> untiled;
  // If untiled images have another format, the untiled graph is faster than any tiles.
  const bool left = device->leaves_images(target.precision, planning.kernels);
  if (left || debug.keep_untiled) {
    ASHLAR_ASSIGN_OR_RETURN(found, PlanUntiled(graph, request, /*low_workspace=*/false));
    if (debug.keep_untiled) {
      untiled = std::make_shared<PlannedGraph>(*found);
      untiled->request.target.budget.reset();
    }
    if (!left || found->plan.plan.arena > budget.bytes) found.reset();
  }
  if (found == nullptr && budget.bytes > 0) {
    ASHLAR_ASSIGN_OR_RETURN(found, FastestWithin(budget.bytes, *plans));
  }
  if (found != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(found, WithoutNeedlessTiles(graph, std::move(found), budget.bytes));
    found->searched = 1;
    found->untiled = std::move(untiled);
    return found;
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest,
                          SmallestEitherWay(graph, rewritten, request));
  const int searched = smallest->searched;
  for (const bool low_workspace : plans->kinds()) {
    if (!left && plans->untiled_bound() > smallest->plan.plan.arena) break;
    ASHLAR_ASSIGN_OR_RETURN(
        std::unique_ptr<PlannedGraph> whole,
        left ? PlanUntiled(graph, request, low_workspace) : plans->PlanUntiled(low_workspace));
    if (IsSmaller(*whole, *smallest)) smallest = std::move(whole);
  }
  const int64_t least = smallest->plan.plan.arena;
  if (budget.bytes > 0 && least > budget.bytes && !budget.find_smallest) {
    return DoesNotFit(absl::StrCat("no plan fits the memory budget of ", budget.bytes,
                                   " bytes; the smallest budget that would do is ", least),
                      least);
  }
  smallest->smallest_budget = least;
  smallest->searched = searched;
  smallest->untiled = std::move(untiled);
  return smallest;
}

absl::StatusOr<std::vector<int>> OrderBeforeTiles(const Graph& graph, const PlanTarget& target,
                                                  const PlanningOptions& planning) {
  ASHLAR_ASSIGN_OR_RETURN(const RewrittenGraph rewritten,
                          RewriteGraph(Graph(graph), target, planning, {.tiled = true}));
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order, OrderOf(rewritten.graph, target, planning));
  std::vector<int> ids;
  for (const int node : order.order) ids.push_back(rewritten.graph.node(node).id);
  return ids;
}

absl::StatusOr<std::vector<TiledPart>> DescribeTiledGraph(Graph& graph, const PlanTarget& target,
                                                          const PlanningOptions& planning) {
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(std::move(graph), target, planning, {.tiled = true}));
  graph = std::move(rewritten.graph);
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order, OrderOf(graph, target, planning));
  return DescribeTiles(graph, target.tiles, order.order, Operators());
}

absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> PlanFrontier(
    Graph graph, const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const RewrittenGraph rewritten,
                          RewriteGraph(Graph(graph), request.target, request.planning,
                                       {true, request.debug.measure_passes}));
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TiledPlans> plans,
                          TiledPlans::Create(rewritten, request));
  std::vector<std::unique_ptr<PlannedGraph>> points;
  int64_t last = std::numeric_limits<int64_t>::max();
  for (const Tiling& tiling : plans->tilings().best) {
    if (static_cast<double>(tiling.arena_bytes) > kNear * static_cast<double>(last)) continue;
    ASHLAR_ASSIGN_OR_RETURN(
        auto planned, plans->Plan({{&tiling, /*low_workspace=*/false, Thoroughness::kChosen}}));
    if (planned[0] == nullptr || planned[0]->plan.plan.arena >= last) continue;
    last = planned[0]->plan.plan.arena;
    points.push_back(std::move(planned[0]));
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest,
                          SmallestEitherWay(graph, rewritten, request));
  const int searched = smallest->searched;
  if (smallest->plan.plan.arena < last) points.push_back(std::move(smallest));
  for (const auto& point : points) {
    point->request = request;
    point->searched = searched;
  }
  return points;
}

}  // namespace ashlar
