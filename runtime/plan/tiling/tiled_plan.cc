#include "runtime/plan/tiling/tiled_plan.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "opr/table.h"
#include "runtime/plan/stages/stages.h"
#include "runtime/plan/tiling/budget_plans.h"
#include "runtime/plan/tiling/needless_tiles.h"
#include "runtime/plan/tiling/tile_rewrites.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {
namespace {

// If the untiled graph takes at most this share of its time in the formats of tiles, no tiles are
// faster.
constexpr double kMuchFaster = 0.9;

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
  const auto& [target, planning, debug] = request;
  const MemoryBudget& budget = *target.budget;
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(target.comp_node));
  std::unique_ptr<PlannedGraph> found;
  std::shared_ptr<PlannedGraph> untiled;
  const bool left = device->leaves_images(target.precision, planning.kernels);
  if (left || debug.keep_untiled) {
    ASHLAR_ASSIGN_OR_RETURN(found, PlanUntiled(graph, request, /*low_workspace=*/false));
    if (debug.keep_untiled) {
      untiled = std::make_shared<PlannedGraph>(*found);
      untiled->request.target.budget.reset();
    }
    if (!left || found->plan.plan.arena > budget.bytes) found.reset();
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<TileRewrites> rewrites,
                          TileRewrites::Create(graph, rewritten, request));
  BudgetPlans plans(graph, *rewrites);
  // Usually untiled images have another format, in which the graph is faster than in any tiles.
  const bool whole_is_fast =
      found != nullptr &&
      found->predicted_ms <= kMuchFaster * rewrites->plans()[0]->EstimateUntiled();
  if (!whole_is_fast && budget.bytes > 0) {
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> tiled, plans.FastWithin(budget.bytes));
    if (tiled != nullptr && (found == nullptr || tiled->predicted_ms < found->predicted_ms)) {
      found = std::move(tiled);
    }
  }
  if (found != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(found, WithoutNeedlessTiles(graph, std::move(found), budget.bytes));
    found->searched = 1;
    found->untiled = std::move(untiled);
    return found;
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest, plans.Smallest());
  const TiledPlans& as_requested = *rewrites->plans()[0];
  const std::vector<bool> kinds = as_requested.kinds();
  if (smallest == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(smallest, as_requested.PlanUntiled(kinds.back()));
  }
  for (const bool low_workspace : kinds) {
    if (!left && as_requested.untiled_bound() > smallest->plan.plan.arena) break;
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> whole,
                            left ? PlanUntiled(graph, request, low_workspace)
                                 : as_requested.PlanUntiled(low_workspace));
    if (IsSmaller(PlanPoint::Of(*whole), PlanPoint::Of(*smallest))) smallest = std::move(whole);
  }
  const int64_t least = smallest->plan.plan.arena;
  if (budget.bytes > 0 && least > budget.bytes && !budget.find_smallest) {
    return DoesNotFit(absl::StrCat("no plan fits the memory budget of ", budget.bytes,
                                   " bytes; the smallest that was found takes ", least),
                      least);
  }
  if (least < budget.bytes) {
    ASHLAR_ASSIGN_OR_RETURN(found, plans.Within(budget.bytes, PlanPoint::Of(*smallest)));
    if (found != nullptr) smallest = std::move(found);
  }
  smallest->smallest_budget = least;
  smallest->searched = static_cast<int>(rewrites->plans().size());
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
  return DescribeTiles(graph, target.tiles, order.order, Operators(), rewritten.adds_quantized);
}

absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> PlanFrontier(
    Graph graph, const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const RewrittenGraph rewritten,
                          RewriteGraph(Graph(graph), request.target, request.planning,
                                       {true, request.debug.measure_passes}));
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<TileRewrites> rewrites,
                          TileRewrites::Create(graph, rewritten, request));
  ASHLAR_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<PlannedGraph>> points,
                          BudgetPlans(graph, *rewrites).Frontier());
  for (const auto& point : points) {
    point->request = request;
    point->searched = static_cast<int>(rewrites->plans().size());
  }
  return points;
}

}  // namespace ashlar
