#include "runtime/plan/rewrite.h"

#include <utility>

#include "graph/passes/pass.h"
#include "graph/status.h"
#include "opr/table.h"

namespace ashlar {
namespace {

// The bytes that the activations of a graph need at least, under the options' order.
absl::StatusOr<int64_t> ActivationBytes(const Graph& graph, const PlanningOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(const StorageOptions storage, StorageFor(options));
  const StorageModel model = BuildStorageModel(graph, storage);
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  ASHLAR_ASSIGN_OR_RETURN(const Schedule schedule,
                          ScheduleByName(options.scheduler, graph, model, no_workspace));
  return schedule.peak_bytes;
}

}  // namespace

absl::StatusOr<StorageOptions> StorageFor(const PlanningOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(options.comp_node));
  return StorageOptions{.inplace = options.inplace,
                        .views = options.inplace,
                        .view_alignment = device->tensor_alignment()};
}

int CountOperators(const Graph& graph) {
  const std::vector<bool> scheduled = ScheduledNodes(graph);
  int count = 0;
  for (size_t i = 0; i < scheduled.size(); ++i) {
    const Role role = graph.node(static_cast<int>(i)).op->role();
    count += scheduled[i] && role == Role::kCompute;
  }
  return count;
}

double WeightFlops(const Graph& graph) {
  double flops = 0;
  for (const OperatorNode& node : graph.nodes()) {
    if (graph.HasWeights(node))
      flops += static_cast<double>(node.op->Computation(graph.SiteOf(node)));
  }
  return flops;
}

absl::StatusOr<bool> WholeLiesOtherwise(const PlanningOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(options.comp_node));
  return device->leaves_images(options.precision, options.kernels);
}

absl::StatusOr<RewrittenGraph> RewriteGraph(Graph graph, const PlanningOptions& options,
                                            bool in_parts) {
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(options.comp_node));
  const bool left = !in_parts && device->leaves_images(options.precision, options.kernels);
  const PassContext context = {Operators(), left ? Format::kDefault : device->image_format(),
                               options.precision, device->runs_chains(), options.done_with};
  std::vector<PassReport> reports;
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
  return RewrittenGraph{std::move(graph), std::move(reports)};
}

}  // namespace ashlar
