#include "runtime/plan/tiling/tiled_plans.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/parallel_for.h"
#include "runtime/plan/stages/stages.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

// Work for a plan that may be returned, as a multiple of a candidate's.
constexpr int64_t kChosenWork = 4;
// A look has one part of a candidate's work in this many.
constexpr int64_t kPartsForALook = 8;
// The least share of the usual work of a search for tilings, also if addresses are not searched
// for: so few take hardly any time.
constexpr double kLeastShare = 0.01;

// Returns how tilings share the device's memory, with kernels of low workspace. Without workspaces
// if they cannot be computed on several threads at once.
ArenaModel ArenaOn(Device& device, const PlanRequest& request) {
  ArenaModel arena{StorageOn(device, request.target, request.planning), {}};
  if (!device.is_host() || request.planning.workspace != WorkspaceSource::kKernel) {
    arena.workspace = [](const Graph& graph, const StorageModel& /*model*/) {
      return std::vector<int64_t>(graph.nodes().size(), 0);
    };
    return arena;
  }
  KernelPolicy policy = request.planning.kernels;
  policy.low_workspace = true;
  const auto known =
      std::make_shared<KnownWorkspaces>(device, request.target, policy, request.planning.record);
  arena.workspace = [known](const Graph& graph, const StorageModel& model) {
    return known->Of(graph, model);
  };
  return arena;
}

}  // namespace

absl::StatusOr<Schedule> OrderOf(const Graph& graph, const PlanTarget& target,
                                 const PlanningOptions& planning) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(target.comp_node));
  const StorageModel model = BuildStorageModel(graph, StorageOn(*device, target, planning));
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  return ScheduleNodes(planning.order, graph, model, no_workspace);
}

absl::StatusOr<TiledGraph> TileRewritten(const RewrittenGraph& rewritten, const Schedule& order,
                                         const TileSpec& spec) {
  PassReport report;
  report.name = "tile";
  report.operators_before = CountOperators(rewritten.graph);
  absl::StatusOr<Graph> tiles =
      Tile(rewritten.graph, spec, order.order, Operators(), nullptr, rewritten.adds_quantized);
  if (!tiles.ok()) {
    absl::Status error = Annotate(tiles.status(), absl::StrCat("tiles '", spec.ToString(), "'"));
    error.SetPayload(kNoSuchTiles, absl::Cord());
    return error;
  }
  TiledGraph tiled{{*std::move(tiles), rewritten.passes, rewritten.adds_quantized}, 0};
  report.operators_after = CountOperators(tiled.rewritten.graph);
  report.arena_bytes_before = order.peak_bytes;
  tiled.rewritten.passes.push_back(std::move(report));
  const double flops = WeightFlops(rewritten.graph), all = WeightFlops(tiled.rewritten.graph);
  tiled.extra_flops = flops > 0 ? all / flops - 1 : 0;
  return tiled;
}

memory::PlanOptions PlannerFor(Thoroughness thorough, const PlanningOptions& planning) {
  memory::PlanOptions planner = planning.planner;
  int64_t& work = planner.limits.work;
  if (thorough == Thoroughness::kLook) work /= kPartsForALook;
  if (thorough == Thoroughness::kChosen) {
    work = std::min(work, std::numeric_limits<int64_t>::max() / kChosenWork) * kChosenWork;
  }
  return planner;
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiles(TiledGraph tiled, const TileSpec& spec,
                                                        PlanRequest request,
                                                        Thoroughness thorough) {
  request.target.tiles = spec;
  Arrangement arrangement = ArrangementOf(request.planning);
  arrangement.order = Order::kAsGiven;
  arrangement.planner = PlannerFor(thorough, request.planning);
  arrangement.exact_too &= thorough == Thoroughness::kChosen;
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanRewritten(std::move(tiled.rewritten), request, arrangement));
  planned->passes.back().arena_bytes_after = planned->schedule.peak_bytes;
  planned->extra_flops_ratio = tiled.extra_flops;
  return planned;
}

TiledPlans::TiledPlans(const RewrittenGraph& rewritten, const PlanRequest& request, Device& device,
                       Schedule order, const TiledPlans* other)
    : rewritten_(rewritten),
      request_(request),
      device_(device),
      order_(std::move(order)),
      arena_(other ? other->arena_ : ArenaOn(device, request)),
      costs_(other ? other->costs_ : std::make_shared<TilingCosts>()) {}

TilingProblem TiledPlans::Problem(double max_extra_flops) {
  const int64_t alignment = request_.debug.alignment;
  const Processor processor = request_.target.ProcessorOn(device_);
  memory::PlanOptions planner = request_.planning.planner;
  planner.limits.work = usual_work();
  return {rewritten_.graph,
          order_.order,
          SpeedOf(device_, request_.target, request_.planning),
          arena_,
          max_extra_flops,
          /*rolling=*/true,
          request_.planning.planner.limits.stop,
          costs_,
          alignment > 0 ? alignment : device_.arena_alignment(processor),
          planner,
          rewritten_.adds_quantized};
}

absl::StatusOr<std::unique_ptr<TiledPlans>> TiledPlans::Create(const RewrittenGraph& rewritten,
                                                               const PlanRequest& request,
                                                               const TiledPlans* other) {
  ASHLAR_ASSIGN_OR_RETURN(Schedule order,
                          OrderOf(rewritten.graph, request.target, request.planning));
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(request.target.comp_node));
  return std::unique_ptr<TiledPlans>(
      new TiledPlans(rewritten, request, *device, std::move(order), other));
}

double TiledPlans::EstimateUntiled() const {
  return EstimateTime(rewritten_.graph, BuildStorageModel(rewritten_.graph, arena_.storage),
                      SpeedOf(device_, request_.target, request_.planning));
}

const FoundTilings& TiledPlans::tilings(double max_extra_flops) {
  TilingProblem problem = Problem(max_extra_flops);
  problem.rolling = false;
  const auto [search, is_new] = searches_.try_emplace(max_extra_flops, problem);
  if (is_new) search->second.Search();
  return search->second.found();
}

LeastTilings& TiledPlans::least_tilings(int64_t multiple) {
  const auto known = least_.find(multiple);
  if (known != least_.end()) return known->second;
  const TilingProblem problem = Problem(std::numeric_limits<double>::infinity());
  const double share = std::max(kLeastShare, static_cast<double>(usual_work()) /
                                                 static_cast<double>(memory::SearchLimits().work));
  return least_.try_emplace(multiple, problem, share * static_cast<double>(multiple)).first->second;
}

void TiledPlans::ForEach(size_t count, absl::FunctionRef<void(size_t)> function) const {
  if (device_.is_host()) {
    ParallelFor(count, request_.planning.planner.limits.stop, function);
  } else {
    for (size_t i = 0; i < count; ++i) function(i);
  }
}

absl::Status TiledPlans::TileAs(const std::vector<Candidate>& candidates) {
  std::map<std::string, const TileSpec*> specs;
  for (const Candidate& candidate : candidates) {
    specs.emplace(candidate.tiling->spec.ToString(), &candidate.tiling->spec);
  }
  absl::erase_if(tiled_, [&](const auto& entry) { return !specs.contains(entry.first); });
  const std::vector<std::pair<std::string, const TileSpec*>> tiles(specs.begin(), specs.end());
  std::vector<std::optional<absl::StatusOr<TiledGraph>>> made(tiles.size());
  ParallelFor(tiles.size(), request_.planning.planner.limits.stop, [&](size_t i) {
    if (tiled_.contains(tiles[i].first)) return;
    const TileSpec& spec = *tiles[i].second;
    made[i] = spec.empty() ? TiledGraph{} : TileRewritten(rewritten_, order_, spec);
  });
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (!made[i]) continue;
    const absl::Status& status = made[i]->status();
    if (!status.ok() && !status.GetPayload(kNoSuchTiles)) return status;
    if (status.ok()) tiled_.emplace(tiles[i].first, **std::move(made[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> TiledPlans::Evaluate(
    const Candidate& candidate) const {
  PlanRequest request = request_;
  request.planning.kernels.low_workspace |= candidate.low_workspace;
  const TileSpec& spec = candidate.tiling->spec;
  if (spec.empty()) {
    request.target.tiles = spec;
    return PlanRewritten(rewritten_, request, ArrangementOf(request.planning));
  }
  request.planning.planner.limits.work = usual_work() * candidate.multiple;
  return PlanTiles(tiled_.at(spec.ToString()), spec, std::move(request), candidate.thorough);
}

absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> TiledPlans::Plan(
    const std::vector<Candidate>& candidates) {
  ASHLAR_RETURN_IF_ERROR(TileAs(candidates));
  const auto is_tiled = [&](const Candidate& candidate) {
    return tiled_.contains(candidate.tiling->spec.ToString());
  };
  std::vector<absl::StatusOr<std::unique_ptr<PlannedGraph>>> evaluated(candidates.size());
  ForEach(candidates.size(), [&](size_t i) {
    if (is_tiled(candidates[i])) evaluated[i] = Evaluate(candidates[i]);
  });
  std::vector<std::unique_ptr<PlannedGraph>> plans;
  for (size_t i = 0; i < candidates.size(); ++i) {
    plans.emplace_back();
    if (!is_tiled(candidates[i])) continue;
    ASHLAR_ASSIGN_OR_RETURN(plans.back(), std::move(evaluated[i]));
  }
  return plans;
}

}  // namespace ashlar
