#include "runtime/plan/planned_graph.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "graph/status.h"
#include "memory/lower_bound.h"
#include "runtime/plan/kernel_choice.h"
#include "runtime/plan/rewrite.h"
#include "runtime/plan/tiled_plan.h"
#include "runtime/schedule/ordered_plan.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

// Bytes live at each node's step, by node; 0 for nodes that are not scheduled.
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

// ResourceExhausted where the device has less memory in all than one session needs.
absl::Status CheckDeviceHolds(const PlannedGraph& planned) {
  const std::optional<MemoryState> memory = planned.device->memory();
  if (!memory.has_value()) return absl::OkStatus();
  const int64_t arena = planned.plan.plan.arena, weights = planned.weights.bytes;
  const int64_t tensors = planned.input_bytes() + planned.output_bytes();
  const int64_t needed = arena + weights + tensors;
  if (needed <= memory->total) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      planned.device->comp_node().ToString(), " has ", memory->total, " bytes, ", needed,
      " are needed: arena ", arena, ", weights ", weights, ", inputs and outputs ", tensors,
      weights + tensors < memory->total
          ? absl::StrCat("; in parts, for which a memory budget asks, the arena may have ",
                         memory->total - weights - tensors)
          : ""));
}

}  // namespace

absl::Status PlannedGraph::ready() const {
  ASHLAR_RETURN_IF_ERROR(device->ready());
  const Processor wanted = processor(), host = device->processor();
  if (!device->is_host() || wanted.isa <= host.isa) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(device->comp_node().ToString(), ": the plan is for ",
                                             wanted.ToString(), ", this processor is ",
                                             host.ToString(), ": it has no ", Name(wanted.isa),
                                             "; it can be planned for, not run"));
}

int64_t PlannedGraph::WorkspaceOffset(int node) const {
  const int buffer = lifetimes.workspace_buffer[node];
  return buffer < 0 ? -1 : plan.plan.offsets[buffer];
}

int64_t PlannedGraph::ArenaOffset(int var) const {
  const VarView view = model.views[var];
  if (view.storage < 0) return -1;
  const int buffer = lifetimes.storage_buffer[view.storage];
  return buffer < 0 ? -1 : plan.plan.offsets[buffer] + view.offset;
}

int64_t PlannedGraph::input_bytes() const {
  int64_t bytes = 0;
  for (const Binding& input : graph.inputs()) bytes += graph.var(input.var).type.bytes();
  return bytes;
}

int64_t PlannedGraph::output_bytes() const {
  int64_t bytes = 0;
  for (const Binding& output : graph.outputs()) bytes += graph.var(output.var).type.bytes();
  return bytes;
}

namespace {

// The plan of the graph as a whole, where that is not one of those that tiles are sought from; else
// null.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWholeOtherwise(const Graph& graph,
                                                                 const PlanningOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(const bool otherwise, WholeLiesOtherwise(options));
  if (!otherwise) return nullptr;
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(Graph(graph), options, /*in_parts=*/false));
  return PlanRewritten(std::move(rewritten), options, /*in_given_order=*/false);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanRewritten(RewrittenGraph rewritten,
                                                            const PlanningOptions& options,
                                                            bool in_given_order) {
  auto planned = std::make_unique<PlannedGraph>();
  planned->options = options;
  planned->passes = std::move(rewritten.passes);
  planned->graph = std::move(rewritten.graph);
  ASHLAR_ASSIGN_OR_RETURN(planned->device, OpenDevice(options.comp_node));
  Device& device = *planned->device;
  const int64_t alignment = options.alignment > 0 ? options.alignment : device.alignment();

  const Graph& g = planned->graph;
  ASHLAR_ASSIGN_OR_RETURN(const StorageOptions storage, StorageFor(options));
  planned->model = BuildStorageModel(g, storage);
  const StorageModel& model = planned->model;
  KernelPolicy policy = options.kernels;
  policy.packed_before = !options.kept_kernels.empty();
  ASHLAR_ASSIGN_OR_RETURN(KernelCandidates candidates,
                          FindKernels(g, model, device, options.processor, options.threads, policy,
                                      options.record.get()));
  if (!options.kept_kernels.empty()) {
    ASHLAR_RETURN_IF_ERROR(KeepKernels(g, options.kept_kernels, candidates));
  }

  // Order with the least scratch, then the kernels that fit under that order's peak.
  const bool recorded = options.workspace == WorkspaceSource::kRecorded;
  const std::vector<int64_t> least =
      recorded ? RecordedBytes(g, model) : LeastWorkspace(candidates);
  if (in_given_order) {
    planned->schedule = ScheduleAsGiven(g, model, least);
  } else {
    ASHLAR_ASSIGN_OR_RETURN(planned->schedule, ScheduleByName(options.scheduler, g, model, least));
  }
  const std::vector<int64_t> no_workspace(g.nodes().size(), 0);
  const Lifetimes bare =
      ComputeLifetimes(g, model, planned->schedule.order, no_workspace, alignment);
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> live,
                          LiveBytesByNode(g, planned->schedule, bare.problem));
  planned->kernels = ChooseKernels(candidates, live, options.extra_scratch);
  planned->workspace = recorded ? least : no_workspace;
  for (size_t i = 0; i < g.nodes().size() && !recorded; ++i) {
    if (planned->kernels[i] == nullptr) continue;
    planned->workspace[i] = planned->kernels[i]->workspace_bytes();
    if (planned->kernels[i] != candidates[i][0]) planned->spared.push_back(static_cast<int>(i));
  }

  ASHLAR_ASSIGN_OR_RETURN(
      OrderedPlan ordered,
      PlanInOrder(g, model, std::move(planned->schedule), planned->workspace,
                  {alignment, options.guard_bytes, !in_given_order && options.scheduler == "memory",
                   options.planner}));
  planned->schedule = std::move(ordered.schedule);
  planned->lifetimes = std::move(ordered.lifetimes);
  planned->plan = std::move(ordered.plan);
  planned->plan.plan.arena -= std::min(options.understate_bytes, planned->plan.plan.arena);
  planned->weights = PlanWeights(g, model, planned->kernels, alignment);
  return planned;
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanGraph(Graph graph,
                                                        const PlanningOptions& options) {
  const Clock::time_point start = Clock::now();
  std::unique_ptr<PlannedGraph> whole;
  if (options.budget) {
    ASHLAR_ASSIGN_OR_RETURN(whole, PlanWholeOtherwise(graph, options));
  }
  const bool in_parts = options.budget || !options.tiles.empty();
  ASHLAR_ASSIGN_OR_RETURN(RewrittenGraph rewritten,
                          RewriteGraph(std::move(graph), options, in_parts));
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned =
      options.budget          ? PlanWithinBudget(rewritten, options, std::move(whole))
      : options.tiles.empty() ? PlanRewritten(std::move(rewritten), options, false)
                              : PlanTiled(rewritten, options);
  if (planned.ok()) {
    ASHLAR_RETURN_IF_ERROR(CheckDeviceHolds(**planned));
    (*planned)->plan_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
  return planned;
}

}  // namespace ashlar
