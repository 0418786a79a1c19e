#include "runtime/plan/stages/rewrite.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "graph/passes/part_heads.h"
#include "graph/status.h"
#include "opr/table.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/panels.h"
#include "runtime/plan/stages/weight_limit.h"

namespace ashlar {
namespace {

// Returns a lower bound on the bytes of activations, in the order of `means`.
int64_t ActivationBytes(const Graph& graph, const Device& device, const PlanTarget& target,
                        const PlanningOptions& planning) {
  const StorageModel model = BuildStorageModel(graph, StorageOn(device, target, planning));
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  return ScheduleNodes(planning.order, graph, model, no_workspace).peak_bytes;
}

// Cuts into panels, by the bytes that the weights of the preferred kernels take, and into groups.
absl::StatusOr<Graph> CutLargeWeights(const Graph& graph, Device& device, const PlanTarget& target,
                                      const PlanningOptions& planning) {
  if (planning.panel_bytes == 0) {
    return CutIntoPanels(graph, Operators(), 0, planning.group_bytes, nullptr,
                         device.adds_quantized());
  }
  const StorageModel model = BuildStorageModel(graph, StorageOn(device, target, planning));
  ASHLAR_ASSIGN_OR_RETURN(
      KernelCandidates candidates,
      FindKernels(graph, model, device, target, planning.kernels, planning.record.get()));
  // A total finds its limit after this, and plan files do not have it.
  if (!target.total) {
    LimitWeights(graph, model, SpeedOf(device, target, planning), {.all = planning.most_weights},
                 candidates);
  }
  const WeightBytes packed = [&](int node, int input) {
    const std::optional<Packing> packing =
        candidates[node].empty() ? std::nullopt : candidates[node][0]->packing(input);
    return packing ? packing->bytes : graph.constant(graph.node(node).inputs[input])->bytes();
  };
  return CutIntoPanels(graph, Operators(), planning.panel_bytes, planning.group_bytes, packed,
                       device.adds_quantized());
}

bool HasQuantized(const Graph& graph) {
  return std::any_of(graph.vars().begin(), graph.vars().end(),
                     [](const Var& var) { return IsQuantized(var.type.dtype); });
}

bool ReadsDoubles(const Graph& graph, const OperatorNode& node) {
  return node.op->role() == Role::kCompute &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
           const TensorType& type = graph.var(input).type;
           return type.dtype == DType::kFloat64 && type.shape.num_elements() > 0;
         });
}

// Composes operators that have kernels, but none of doubles, of operators that have. Those without
// a composition stay.
absl::StatusOr<Graph> ComposeDoubles(Graph graph, const HasKernel& has_kernel, const Device& device,
                                     const PlanTarget& target, const PlanningOptions& planning) {
  constexpr int kDeepest = 8;  // an operator of doubles in a composition is composed in turn
  for (int depth = 0; depth < kDeepest; ++depth) {
    absl::flat_hash_set<const Operator*> refused;
    for (const OperatorNode& node : graph.nodes()) {
      if (ReadsDoubles(graph, node) &&
          RefusesInputs(graph, node, device, target, planning.kernels)) {
        refused.insert(node.op.get());
      }
    }
    if (refused.empty()) break;
    const size_t before = graph.nodes().size();
    ASHLAR_ASSIGN_OR_RETURN(graph, Compose(std::move(graph), [&](const Operator& op) {
                              return has_kernel(op) && !refused.contains(&op);
                            }));
    if (graph.nodes().size() == before) break;
  }
  return graph;
}

}  // namespace

StorageOptions StorageOn(const Device& device, const PlanTarget& target,
                         const PlanningOptions& planning) {
  return StorageOptions{.inplace = planning.inplace,
                        .views = planning.inplace,
                        .release_inputs = target.release_input,
                        .parts = target.tiles.Has(TileKind::kRolling),
                        .moves = planning.inplace && device.moves_overlapping(),
                        .view_alignment = device.tensor_alignment()};
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
      flops += static_cast<double>(node.op->KeptComputation(graph.SiteOf(node)));
  }
  return flops;
}

absl::StatusOr<RewrittenGraph> RewriteGraph(Graph graph, const PlanTarget& target,
                                            const PlanningOptions& planning,
                                            const RewriteOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice(target.comp_node));
  const bool left = !options.tiled && device->leaves_images(target.precision, planning.kernels);
  const HasKernel has_kernel = [&](const Operator& op) {
    return device->kernels().Find(op.type()) != nullptr;
  };
  const PassContext context = {
      Operators(),           left ? Format::kDefault : device->image_format(), target.precision,
      device->runs_chains(), device->adds_quantized() && HasQuantized(graph),  has_kernel,
      device->reads_planes()};
  // Operators with several outputs end tiled segments, so any that splits images is composed of
  // slices.
  absl::flat_hash_set<const Operator*> splits;
  for (const OperatorNode& node : graph.nodes()) {
    if (!options.tiled || node.outputs.size() < 2 || node.inputs.empty()) continue;
    const bool is_image = graph.var(node.inputs[0]).type.shape.rank() == 4;
    if (is_image && node.op->storage_rules(graph.SiteOf(node)).moves) splits.insert(node.op.get());
  }
  const HasKernel is_kept = [&](const Operator& op) {
    return has_kernel(op) && !splits.contains(&op);
  };
  if (options.tiled) {
    ASHLAR_ASSIGN_OR_RETURN(graph, PartHeads(graph, Operators()));
  }
  ASHLAR_ASSIGN_OR_RETURN(graph, Compose(std::move(graph), is_kept));
  ASHLAR_ASSIGN_OR_RETURN(graph,
                          ComposeDoubles(std::move(graph), has_kernel, *device, target, planning));
  if (options.tiled) {
    ASHLAR_ASSIGN_OR_RETURN(graph, ReadImages(graph, Operators()));
  }
  std::vector<PassReport> reports;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Pass> passes, SelectPasses(planning.passes));
  for (const Pass& pass : passes) {
    if (pass.applies != nullptr && !pass.applies(context)) continue;
    PassReport report;
    report.name = pass.name;
    report.operators_before = CountOperators(graph);
    if (options.measure_passes) {
      // The graph before this pass is the graph after the previous pass.
      report.arena_bytes_before = reports.empty()
                                      ? ActivationBytes(graph, *device, target, planning)
                                      : reports.back().arena_bytes_after;
    }
    absl::StatusOr<Graph> rewritten = pass.run(graph, context);
    if (!rewritten.ok()) return Annotate(rewritten.status(), absl::StrCat("pass ", pass.name));
    graph = *std::move(rewritten);
    report.operators_after = CountOperators(graph);
    if (options.measure_passes)
      report.arena_bytes_after = ActivationBytes(graph, *device, target, planning);
    reports.push_back(std::move(report));
  }
  if (options.panels_as != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(graph, CutIntoPanelsOf(*options.panels_as, graph, Operators()));
  } else if (planning.panel_bytes > 0 || planning.group_bytes > 0) {
    ASHLAR_ASSIGN_OR_RETURN(graph, CutLargeWeights(graph, *device, target, planning));
  }
  return RewrittenGraph{std::move(graph), std::move(reports), device->adds_quantized()};
}

}  // namespace ashlar
