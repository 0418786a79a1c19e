#include "runtime/plan/tiled_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/kernel_choice.h"
#include "runtime/plan/parallel_for.h"
#include "runtime/plan/stages.h"
#include "runtime/plan/tiling_search.h"

namespace ashlar {
namespace {

// Points of a frontier, whose arenas differ by less, say little.
constexpr double kNear = 0.85;
// Plans made for the smallest one. Their bounds are known before, so few are enough.
constexpr size_t kMostSmall = 24;
// Plans made at a time: a number of its own and not of cores, on which no answer may depend. A
// plan of a large graph takes tens of megabytes.
constexpr size_t kTogether = 2;
// How far the time of a plan may be from the search's estimate, part by part, of its tiling.
constexpr double kTimeError = 0.01;

// The order of the graph as it is, which tiles follow.
absl::StatusOr<Schedule> OrderOf(const Graph& graph, const Wishes& wishes, const Means& means) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(wishes.comp_node));
  const StorageModel model = BuildStorageModel(graph, StorageOn(*device, means.inplace));
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  return ScheduleNodes(means.order, graph, model, no_workspace);
}

// A graph in tiles, and their cost.
struct TiledGraph {
  RewrittenGraph rewritten;
  double extra_flops = 0;  // computed again, over all of the graph before
};

// `order` is of the graph before. Not for an empty spec.
absl::StatusOr<TiledGraph> TileRewritten(const RewrittenGraph& rewritten, const Schedule& order,
                                         const TileSpec& spec) {
  PassReport report;
  report.name = "tile";
  report.operators_before = CountOperators(rewritten.graph);
  absl::StatusOr<Graph> tiles = Tile(rewritten.graph, spec, order.order, Operators());
  if (!tiles.ok()) {
    absl::Status error = Annotate(tiles.status(), absl::StrCat("tiles '", spec.ToString(), "'"));
    error.SetPayload(kNoSuchTiles, absl::Cord());
    return error;
  }
  TiledGraph tiled{{*std::move(tiles), rewritten.passes}, 0};
  report.operators_after = CountOperators(tiled.rewritten.graph);
  report.arena_bytes_before = order.peak_bytes;
  tiled.rewritten.passes.push_back(std::move(report));
  const double flops = WeightFlops(rewritten.graph), all = WeightFlops(tiled.rewritten.graph);
  tiled.extra_flops = flops > 0 ? all / flops - 1 : 0;
  return tiled;
}

// In the order in which the tiles stand. `spec`: theirs.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiles(TiledGraph tiled, const TileSpec& spec,
                                                        PlanRequest request) {
  request.wishes.tiles = spec;
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanRewritten(std::move(tiled.rewritten), request,
                                        {{}, Order::kAsGiven, request.means.planner}));
  planned->passes.back().arena_bytes_after = planned->schedule.peak_bytes;
  planned->extra_flops_ratio = tiled.extra_flops;
  return planned;
}

// How tilings share the device's memory, with kernels that need little workspace; without
// workspaces where they are not known on several threads at once.
ArenaModel ArenaOn(Device& device, const PlanRequest& request) {
  ArenaModel arena{StorageOn(device, request.means.inplace), {}};
  arena.workspace = [&](const Graph& graph, const StorageModel& model) {
    KernelPolicy policy = request.means.kernels;
    policy.least_memory = true;
    absl::StatusOr<KernelCandidates> kernels = absl::UnavailableError("");
    if (device.is_host() && request.means.workspace == WorkspaceSource::kKernel) {
      kernels = FindKernels(graph, model, device, request.wishes.processor, request.wishes.threads,
                            policy, request.means.record.get());
    }
    return kernels.ok() ? LeastWorkspace(*kernels) : std::vector<int64_t>(graph.nodes().size(), 0);
  };
  return arena;
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
    ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(wishes.comp_node));
    plans->on_host_ = device->is_host();
    const ProcessorSpeed speed = SpeedOf(*device, wishes.processor, wishes.threads);
    TilingLimits limits;
    if (wishes.budget) limits.max_extra_flops = wishes.budget->max_extra_flops;
    ASHLAR_ASSIGN_OR_RETURN(plans->tilings_,
                            SearchTilings(rewritten.graph, plans->order_.order, limits, speed,
                                          ArenaOn(*device, request)));
    return plans;
  }

  const FoundTilings& tilings() const { return tilings_; }
  // No plan of the graph as it is needs less, bytes; 0 where nothing is known.
  int64_t untiled_bound() const { return order_.bound_bytes; }
  // The kinds of plans of one tiling, as arguments `sparing`: one where sparing kernels are asked
  // for.
  std::vector<bool> kinds() const {
    return request_.means.kernels.least_memory ? std::vector{true} : std::vector{false, true};
  }

  struct Question {
    const Tiling* tiling;
    bool sparing;  // with the kernels that need little workspace instead of the fastest
  };
  // At once where the device lets planning go on in several threads; null where the graph does not
  // have the tiles: what is made of a segment may be too little for them where the one behind it
  // does not need all.
  absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> Plan(
      const std::vector<Question>& questions) {
    std::vector<const Tiling*> tilings;
    for (const Question& question : questions) {
      if (std::count(tilings.begin(), tilings.end(), question.tiling) == 0) {
        tilings.push_back(question.tiling);
      }
    }
    ASHLAR_RETURN_IF_ERROR(TileAs(tilings));
    std::vector<absl::StatusOr<std::unique_ptr<PlannedGraph>>> answers(questions.size());
    ForEach(questions.size(), [&](size_t i) {
      if (tiled_.contains(questions[i].tiling)) answers[i] = Answer(questions[i]);
    });
    std::vector<std::unique_ptr<PlannedGraph>> plans;
    for (size_t i = 0; i < questions.size(); ++i) {
      plans.emplace_back();
      if (!tiled_.contains(questions[i].tiling)) continue;
      ASHLAR_ASSIGN_OR_RETURN(plans.back(), std::move(answers[i]));
    }
    return plans;
  }
  // The graph as it is.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanUntiled(bool sparing) const {
    const Tiling untiled;
    return Answer({&untiled, sparing});
  }

 private:
  TiledPlans(const RewrittenGraph& rewritten, const PlanRequest& request)
      : rewritten_(rewritten), request_(request) {}

  void ForEach(size_t count, absl::FunctionRef<void(size_t)> function) const {
    if (on_host_) {
      ParallelFor(count, function);
    } else {
      for (size_t i = 0; i < count; ++i) function(i);
    }
  }

  // Keeps the graphs in these tiles, where they can be had, and no others: they are large.
  absl::Status TileAs(const std::vector<const Tiling*>& tilings) {
    absl::erase_if(tiled_, [&](const auto& entry) {
      return std::count(tilings.begin(), tilings.end(), entry.first) == 0;
    });
    std::vector<std::optional<absl::StatusOr<TiledGraph>>> made(tilings.size());
    ParallelFor(tilings.size(), [&](size_t i) {
      const TileSpec& spec = tilings[i]->spec;
      if (tiled_.contains(tilings[i])) return;
      made[i] = spec.empty() ? TiledGraph{} : TileRewritten(rewritten_, order_, spec);
    });
    for (size_t i = 0; i < tilings.size(); ++i) {
      if (!made[i]) continue;
      const absl::Status& status = made[i]->status();
      if (!status.ok() && !status.GetPayload(kNoSuchTiles)) return status;
      if (status.ok()) tiled_.emplace(tilings[i], **std::move(made[i]));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<PlannedGraph>> Answer(const Question& question) const {
    PlanRequest request = request_;
    request.means.kernels.least_memory |= question.sparing;
    const TileSpec& spec = question.tiling->spec;
    if (spec.empty()) {
      request.wishes.tiles = spec;
      return PlanRewritten(rewritten_, request, ArrangementOf(request.means));
    }
    return PlanTiles(tiled_.at(question.tiling), spec, std::move(request));
  }

  const RewrittenGraph& rewritten_;
  const PlanRequest& request_;
  bool on_host_ = false;
  Schedule order_;
  FoundTilings tilings_;
  absl::flat_hash_map<const Tiling*, TiledGraph> tiled_;  // by tilings of the last questions
};

// The fastest that fits; null where none does.
absl::StatusOr<std::unique_ptr<PlannedGraph>> FastestWithin(int64_t budget, TiledPlans& plans) {
  std::unique_ptr<PlannedGraph> fastest;
  double enough = std::numeric_limits<double>::infinity();
  for (const Tiling& tiling : plans.tilings().best) {
    if (tiling.arena_bytes > budget) continue;
    if (tiling.ms > enough) break;
    std::vector<TiledPlans::Question> questions;
    for (const bool sparing : plans.kinds()) questions.push_back({&tiling, sparing});
    ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan(questions));
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

// The smallest of all; of equals with the fastest kernels.
absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(TiledPlans& plans) {
  absl::Span<const Tiling> rest = plans.tilings().smallest;
  rest = rest.subspan(0, kMostSmall);
  std::unique_ptr<PlannedGraph> smallest;
  const Tiling* tiling = nullptr;
  const auto least = [&] {
    return smallest == nullptr ? std::numeric_limits<int64_t>::max() : smallest->plan.plan.arena;
  };
  // No plan is smaller than the bytes that live in it at once.
  while (!rest.empty() && rest[0].arena_bytes < least()) {
    std::vector<TiledPlans::Question> questions;
    for (const Tiling& candidate : rest.subspan(0, kTogether)) {
      questions.push_back({&candidate, /*sparing=*/true});
    }
    rest.remove_prefix(questions.size());
    ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan(questions));
    for (size_t i = 0; i < planned.size(); ++i) {
      if (planned[i] == nullptr || planned[i]->plan.plan.arena >= least()) continue;
      smallest = std::move(planned[i]);
      tiling = questions[i].tiling;
    }
  }
  const Tiling untiled;
  if (smallest == nullptr) {  // none has the tiles that were expected of it
    ASHLAR_ASSIGN_OR_RETURN(smallest, plans.PlanUntiled(/*sparing=*/true));
    tiling = &untiled;
  }
  if (plans.kinds().size() == 1) return smallest;
  ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan({{tiling, /*sparing=*/false}}));
  std::unique_ptr<PlannedGraph> fast = std::move(planned[0]);
  return fast->plan.plan.arena <= least() ? std::move(fast) : std::move(smallest);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanTiled(const RewrittenGraph& rewritten,
                                                        const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order,
                          OrderOf(rewritten.graph, request.wishes, request.means));
  ASHLAR_ASSIGN_OR_RETURN(TiledGraph tiled, TileRewritten(rewritten, order, request.wishes.tiles));
  return PlanTiles(std::move(tiled), request.wishes.tiles, request);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinBudget(const RewrittenGraph& rewritten,
                                                               const PlanRequest& request,
                                                               UntiledPlanner untiled) {
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TiledPlans> plans,
                          TiledPlans::Create(rewritten, request));
  const auto& [wishes, means, checks] = request;
  const MemoryBudget& budget = *wishes.budget;
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(wishes.comp_node));
  std::unique_ptr<PlannedGraph> found;
  // Where images have another format untiled, that is faster than any tiles.
  const bool left = device->leaves_images(wishes.precision, means.kernels);
  if (left) {
    ASHLAR_ASSIGN_OR_RETURN(found, untiled(/*sparing=*/false));
    if (found->plan.plan.arena > budget.bytes) found.reset();
  }
  if (found == nullptr && budget.bytes > 0) {
    ASHLAR_ASSIGN_OR_RETURN(found, FastestWithin(budget.bytes, *plans));
  }
  if (found != nullptr && !budget.find_smallest) return found;
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest, SmallestOf(*plans));
  for (const bool sparing : plans->kinds()) {
    if (!left && plans->untiled_bound() >= smallest->plan.plan.arena) break;
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> whole,
                            left ? untiled(sparing) : plans->PlanUntiled(sparing));
    if (whole->plan.plan.arena < smallest->plan.plan.arena) smallest = std::move(whole);
  }
  const int64_t least = smallest->plan.plan.arena;
  if (found == nullptr && (budget.bytes == 0 || least <= budget.bytes || budget.find_smallest)) {
    found = std::move(smallest);
  }
  if (found == nullptr) {
    return DoesNotFit(absl::StrCat("no plan fits the budget of ", budget.bytes,
                                   " bytes; the smallest budget that would do is ", least),
                      least);
  }
  found->smallest_budget = std::min(least, found->plan.plan.arena);
  return found;
}

absl::StatusOr<std::vector<int>> OrderBeforeTiles(const Graph& graph, const Wishes& wishes,
                                                  const Means& means) {
  ASHLAR_ASSIGN_OR_RETURN(const RewrittenGraph rewritten,
                          RewriteGraph(Graph(graph), wishes, means, {.tiled = true}));
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order, OrderOf(rewritten.graph, wishes, means));
  std::vector<int> ids;
  for (const int node : order.order) ids.push_back(rewritten.graph.node(node).id);
  return ids;
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
    ASHLAR_ASSIGN_OR_RETURN(auto planned, plans->Plan({{&tiling, /*sparing=*/false}}));
    if (planned[0] == nullptr || planned[0]->plan.plan.arena >= last) continue;
    last = planned[0]->plan.plan.arena;
    points.push_back(std::move(planned[0]));
  }
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> smallest, SmallestOf(*plans));
  if (smallest->plan.plan.arena < last) points.push_back(std::move(smallest));
  return points;
}

}  // namespace ashlar
