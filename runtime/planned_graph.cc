#include "runtime/planned_graph.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "graph/passes/pass.h"
#include "graph/status.h"
#include "memory/lower_bound.h"
#include "opr/table.h"
#include "runtime/kernel_choice.h"
#include "runtime/ordered_plan.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

int CountOperators(const Graph& graph) {
  const std::vector<bool> scheduled = ScheduledNodes(graph);
  int count = 0;
  for (size_t i = 0; i < scheduled.size(); ++i) {
    const Role role = graph.node(static_cast<int>(i)).op->role();
    count += scheduled[i] && role == Role::kCompute;
  }
  return count;
}

// The bytes that the activations of a graph need at least, under the options' order.
absl::StatusOr<int64_t> ActivationBytes(const Graph& graph, const PlanningOptions& options) {
  const StorageModel model = BuildStorageModel(graph, {.inplace = options.inplace});
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  ASHLAR_ASSIGN_OR_RETURN(const Schedule schedule,
                          ScheduleByName(options.scheduler, graph, model, no_workspace));
  return schedule.peak_bytes;
}

absl::StatusOr<Graph> Rewrite(Graph graph, const PlanningOptions& options, const Device& device,
                              std::vector<PassReport>& reports) {
  const PassContext context = {Operators(), device.image_format(), options.precision,
                               options.done_with};
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Pass> passes, SelectPasses(options.passes));
  for (const Pass& pass : passes) {
    if (pass.applies != nullptr && !pass.applies(context)) continue;
    PassReport report;
    report.name = pass.name;
    report.operators_before = CountOperators(graph);
    if (options.measure_passes) {
      // The graph before a pass is the graph after the one before it.
      if (reports.empty()) {
        ASHLAR_ASSIGN_OR_RETURN(report.arena_bytes_before, ActivationBytes(graph, options));
      } else {
        report.arena_bytes_before = reports.back().arena_bytes_after;
      }
    }
    absl::StatusOr<Graph> rewritten = pass.run(graph, context);
    if (!rewritten.ok()) return Annotate(rewritten.status(), absl::StrCat("pass ", pass.name));
    graph = *std::move(rewritten);
    report.operators_after = CountOperators(graph);
    if (options.measure_passes) {
      ASHLAR_ASSIGN_OR_RETURN(report.arena_bytes_after, ActivationBytes(graph, options));
    }
    reports.push_back(std::move(report));
  }
  return graph;
}

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

std::vector<int64_t> RecordedWorkspace(const Graph& graph, const StorageModel& model) {
  std::vector<int64_t> bytes(graph.nodes().size(), 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const OperatorNode& node = graph.node(static_cast<int>(i));
    if (!model.scheduled[i] || !node.op->has_workspace()) continue;
    bytes[i] = graph.var(node.outputs.back()).type.bytes();
  }
  return bytes;
}

}  // namespace

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

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanGraph(Graph graph,
                                                        const PlanningOptions& options) {
  const Clock::time_point start = Clock::now();
  auto planned = std::make_unique<PlannedGraph>();
  planned->options = options;
  ASHLAR_ASSIGN_OR_RETURN(planned->device, OpenDevice(options.comp_node));
  Device& device = *planned->device;
  const int64_t alignment = options.alignment > 0 ? options.alignment : device.alignment();

  ASHLAR_ASSIGN_OR_RETURN(planned->graph,
                          Rewrite(std::move(graph), options, device, planned->passes));
  const Graph& g = planned->graph;
  planned->model = BuildStorageModel(
      g, {.inplace = options.inplace, .view_alignment = device.tensor_alignment()});
  const StorageModel& model = planned->model;
  ASHLAR_ASSIGN_OR_RETURN(
      KernelCandidates candidates,
      FindKernels(g, model, device, options.threads, options.kernels, options.record.get()));
  if (!options.kept_kernels.empty()) {
    ASHLAR_RETURN_IF_ERROR(KeepKernels(g, options.kept_kernels, candidates));
  }

  // Order with the least scratch, then the kernels that fit under that order's peak.
  const bool recorded = options.workspace == WorkspaceSource::kRecorded;
  const std::vector<int64_t> least =
      recorded ? RecordedWorkspace(g, model) : LeastWorkspace(candidates);
  ASHLAR_ASSIGN_OR_RETURN(planned->schedule, ScheduleByName(options.scheduler, g, model, least));
  const std::vector<int64_t> no_workspace(g.nodes().size(), 0);
  const Lifetimes bare =
      ComputeLifetimes(g, model, planned->schedule.order, no_workspace, alignment);
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> live,
                          LiveBytesByNode(g, planned->schedule, bare.problem));
  planned->kernels = ChooseKernels(candidates, live);
  planned->workspace = recorded ? least : no_workspace;
  for (size_t i = 0; i < g.nodes().size() && !recorded; ++i) {
    if (planned->kernels[i] != nullptr) {
      planned->workspace[i] = planned->kernels[i]->workspace_bytes();
    }
  }

  ASHLAR_ASSIGN_OR_RETURN(OrderedPlan ordered,
                          PlanInOrder(g, model, std::move(planned->schedule), planned->workspace,
                                      {alignment, options.guard_bytes,
                                       options.scheduler == "memory", options.planner}));
  planned->schedule = std::move(ordered.schedule);
  planned->lifetimes = std::move(ordered.lifetimes);
  planned->plan = std::move(ordered.plan);
  planned->plan.plan.arena -= std::min(options.understate_bytes, planned->plan.plan.arena);
  planned->weights = PlanWeights(g, model, planned->kernels, alignment);
  planned->plan_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return planned;
}

}  // namespace ashlar
