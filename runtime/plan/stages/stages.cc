#include "runtime/plan/stages/stages.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "graph/state.h"
#include "graph/status.h"
#include "memory/problem/lower_bound.h"
#include "runtime/plan/stages/channels_last.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/time_estimate.h"
#include "runtime/plan/stages/weight_limit.h"
#include "runtime/schedule/ordered_plan.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

// Returns the bytes live at each node's step, by node; 0 for nodes that are not scheduled.
absl::StatusOr<std::vector<int64_t>> LiveBytesByNode(const Graph& graph, const Schedule& schedule,
                                                     const memory::Problem& problem) {
  std::vector<int64_t> live(graph.nodes().size(), 0);
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<memory::LiveBytes> profile,
                          memory::LiveProfile(problem));
  size_t next = 0;
  int64_t bytes = 0;
  for (size_t step = 0; step < schedule.order.size(); ++step) {
    while (next < profile.size() && profile[next].step <= static_cast<int64_t>(step)) {
      bytes = profile[next++].bytes;
    }
    live[schedule.order[step]] = bytes;
  }
  return live;
}

std::vector<int64_t> RecordedBytes(const Graph& graph, const StorageModel& model) {
  std::vector<int64_t> bytes(graph.nodes().size(), 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const OperatorNode& node = graph.node(static_cast<int>(i));
    if (model.scheduled[i] && node.recorded_workspace) bytes[i] = node.recorded_workspace->bytes;
  }
  return bytes;
}

// Stage 7: chooses by node the first candidate whose workspace fits under the peak of the order.
absl::StatusOr<std::vector<std::shared_ptr<const Kernel>>> FitKernels(
    const Graph& graph, const StorageModel& model, const KernelCandidates& candidates,
    const Schedule& schedule, int64_t alignment, int64_t extra_workspace) {
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  const Lifetimes bare = ComputeLifetimes(graph, model, schedule.order, no_workspace, alignment);
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> live,
                          LiveBytesByNode(graph, schedule, bare.problem));
  return ChooseKernels(candidates, live, extra_workspace);
}

void Report(int64_t arena, PlanningProgress& progress) {
  progress.plans.fetch_add(1);
  int64_t least = progress.least_arena.load();
  while (arena < least && !progress.least_arena.compare_exchange_weak(least, arena)) {
  }
}

}  // namespace

Arrangement ArrangementOf(const PlanningOptions& planning) {
  return {{},
          planning.order,
          planning.planner,
          planning.planner.planner == memory::PlanOptions().planner};
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> BeginPlan(RewrittenGraph rewritten,
                                                        const PlanRequest& request) {
  auto planned = std::make_unique<PlannedGraph>();
  planned->request = request;
  planned->tiles = request.target.tiles;
  planned->planning = request.planning;
  planned->passes = std::move(rewritten.passes);
  ASHLAR_ASSIGN_OR_RETURN(planned->device, OpenDevice(request.target.comp_node));
  planned->graph = std::move(rewritten.graph);
  if (request.planning.inplace) {
    ASHLAR_ASSIGN_OR_RETURN(planned->graph,
                            ViewChannelsLast(std::move(planned->graph), *planned->device));
  }
  // 4. Storage.
  ASHLAR_RETURN_IF_ERROR(CheckStateUse(planned->graph));
  planned->model = BuildStorageModel(planned->graph,
                                     StorageOn(*planned->device, request.target, request.planning));
  return planned;
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanRewritten(RewrittenGraph rewritten,
                                                            const PlanRequest& request,
                                                            const Arrangement& arrangement) {
  const auto& [target, planning, debug] = request;
  const std::stop_token& stop = planning.planner.limits.stop;
  memory::ThrowIfStopped(stop);
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          BeginPlan(std::move(rewritten), request));
  Device& device = *planned->device;
  const int64_t alignment =
      debug.alignment > 0 ? debug.alignment : device.arena_alignment(planned->processor());
  const Graph& graph = planned->graph;

  const StorageModel& model = planned->model;

  // 5. Kernels found.
  memory::ThrowIfStopped(stop);
  KernelPolicy policy = planning.kernels;
  policy.packed_before = !arrangement.kernels.identities.empty();
  ASHLAR_ASSIGN_OR_RETURN(KernelCandidates candidates,
                          FindKernels(graph, model, device, target, policy, planning.record.get()));
  if (policy.packed_before) {
    ASHLAR_RETURN_IF_ERROR(KeepKernels(graph, arrangement.kernels, candidates));
  }
  const ProcessorSpeed speed = SpeedOf(device, target, planning);
  LimitWeights(graph, model, speed,
               {.all = planning.most_weights,
                .at_once = target.weights_budget.value_or(std::numeric_limits<int64_t>::max())},
               candidates);

  // 6. Order, with the least workspaces.
  memory::ThrowIfStopped(stop);
  const bool recorded = planning.workspace == WorkspaceSource::kRecorded;
  const std::vector<int64_t> least =
      recorded ? RecordedBytes(graph, model) : LeastWorkspace(candidates);
  Schedule schedule = ScheduleNodes(arrangement.order, graph, model, least);

  // 7. Kernels that fit under the peak of that order.
  memory::ThrowIfStopped(stop);
  ASHLAR_ASSIGN_OR_RETURN(planned->kernels, FitKernels(graph, model, candidates, schedule,
                                                       alignment, planning.extra_workspace));
  planned->workspace = least;
  for (size_t i = 0; i < graph.nodes().size() && !recorded; ++i) {
    const Kernel* const kernel = planned->kernels[i].get();
    planned->workspace[i] = kernel == nullptr ? 0 : kernel->workspace_bytes();
    if (kernel == nullptr || kernel == candidates[i][0].get()) continue;
    planned->spared.push_back(static_cast<int>(i));
  }

  // 8. Addresses.
  ASHLAR_ASSIGN_OR_RETURN(
      OrderedPlan ordered,
      PlanInOrder(graph, model, std::move(schedule), planned->workspace,
                  {alignment, debug.guard_bytes, arrangement.order == Order::kLeastPeak,
                   arrangement.exact_too, arrangement.planner}));
  planned->schedule = std::move(ordered.schedule);
  planned->lifetimes = std::move(ordered.lifetimes);
  planned->plan = std::move(ordered.plan);
  planned->plan.plan.arena -= std::min(debug.understate_bytes, planned->plan.plan.arena);

  planned->predicted_ms = EstimateTime(graph, model, speed, planned->kernels);

  // 9. Weights and states.
  planned->weights = PlanWeights(graph, model, planned->kernels, alignment);
  planned->state = PlanStates(graph, model, alignment);
  if (planning.progress != nullptr) Report(planned->plan.plan.arena, *planning.progress);
  return planned;
}

}  // namespace ashlar
