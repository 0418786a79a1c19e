#include "runtime/plan/record/recorded_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/tiling/tiled_plan.h"

namespace ashlar {
namespace {

// Returns whether float images in the graph have the device's format; 8-bit images always have.
bool HasImagesOf(const Device& device, const Graph& graph) {
  return std::any_of(graph.vars().begin(), graph.vars().end(), [&](const Var& var) {
    return var.type.format == device.image_format() && !IsQuantized(var.type.dtype);
  });
}

bool IsCopy(const PlannedGraph& planned, int var, int first_added_id) {
  const OperatorNode& producer = planned.graph.node(planned.graph.var(var).producer);
  return producer.id >= first_added_id &&
         producer.op->storage_rules(planned.graph.SiteOf(producer)).moves;
}

std::vector<RecordedStep> StepsOf(const PlannedGraph& planned) {
  std::vector<RecordedStep> steps;
  for (const int index : planned.schedule.order) {
    const OperatorNode& node = planned.graph.node(index);
    const Kernel* const kernel = planned.kernels[index].get();
    steps.push_back({node.id, node.name, std::string(node.op->type()),
                     kernel == nullptr ? "" : kernel->implementation(), planned.workspace[index]});
  }
  return steps;
}

std::vector<RecordedChunk> ChunksOf(const PlannedGraph& planned, int first_added_id) {
  const memory::Problem& problem = planned.lifetimes.problem;
  std::vector<RecordedChunk> chunks(problem.buffers.size());
  std::vector<std::string> names = NamesOfBuffers(planned);
  for (size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].name = std::move(names[i]);
    chunks[i].buffer = problem.buffers[i];
    chunks[i].buffer.offset = planned.plan.plan.offsets[i];
  }
  for (const memory::Inside& relation : problem.inside) {
    chunks[relation.inner].inside = relation.outer;
    chunks[relation.inner].at = relation.offset;
  }
  for (size_t s = 0; s < planned.model.storages.size(); ++s) {
    const int buffer = planned.lifetimes.storage_buffer[s];
    if (buffer < 0) continue;
    if (IsCopy(planned, planned.model.storages[s].owner, first_added_id)) {
      chunks[buffer].kind = ChunkKind::kCopy;
    }
  }
  for (size_t n = 0; n < planned.graph.nodes().size(); ++n) {
    const int buffer = planned.lifetimes.workspace_buffer[n];
    if (buffer >= 0) chunks[buffer].kind = ChunkKind::kWorkspace;
  }
  return chunks;
}

}  // namespace

absl::string_view Name(ChunkKind kind) {
  static constexpr absl::string_view kNames[] = {"tensor", "workspace", "copy"};
  return kNames[static_cast<int>(kind)];
}

memory::Problem RecordedPlan::problem() const {
  memory::Problem problem;
  for (size_t i = 0; i < chunks.size(); ++i) {
    problem.buffers.push_back(chunks[i].buffer);
    problem.buffers.back().offset = std::nullopt;
    if (chunks[i].inside < 0) continue;
    problem.inside.push_back({static_cast<int>(i), chunks[i].inside, chunks[i].at});
  }
  return problem;
}

memory::Proof RecordedPlan::proof() const {
  if (arena == lower_bound) return memory::Proof::kOptimal;
  return arena == proven_bound ? memory::Proof::kOptimalSearch : memory::Proof::kNone;
}

absl::StatusOr<RecordedPlan> RecordPlan(const Graph& model, const PlannedGraph& planned) {
  RecordedPlan plan;
  const PlanRequest settled = planned.SettledRequest();
  plan.target = settled.target;
  plan.target.budget.reset();
  plan.planning = settled.planning;
  plan.planning.record.reset();
  plan.planning.recorded.reset();
  plan.processor = planned.processor();
  plan.alignment = settled.debug.alignment;
  plan.rewritten_for_tiles =
      plan.target.tiled() ||
      (planned.device->leaves_images(plan.target.precision, plan.planning.kernels) &&
       HasImagesOf(*planned.device, planned.graph));
  if (plan.target.tiled()) {
    ASHLAR_ASSIGN_OR_RETURN(plan.order_before_tiles,
                            OrderBeforeTiles(model, plan.target, plan.planning));
  }
  plan.record = CountRecordUse(planned);
  plan.steps = StepsOf(planned);
  plan.chunks = ChunksOf(planned, model.next_id());
  plan.arena = planned.plan.plan.arena;
  plan.weights = planned.weights.bytes;
  plan.inputs = planned.input_bytes();
  plan.outputs = planned.output_bytes();
  plan.lower_bound = planned.plan.lower_bound;
  plan.proven_bound = planned.plan.plan.proven_bound;
  plan.bottleneck_step = planned.plan.bottleneck_step;
  plan.found_by = planned.plan.plan.planner;
  plan.predicted_ms = planned.predicted_ms;
  plan.extra_flops_ratio = planned.extra_flops_ratio;
  return plan;
}

RecordUse CountRecordUse(const PlannedGraph& planned) {
  const PlanningOptions& planning = planned.planning;
  if (planning.recorded != nullptr) return planning.recorded->record;
  if (planning.record == nullptr || planning.record->path.empty()) return {};
  RecordUse use{planning.record->path, 0, 0, planned.tiles_on_record};
  std::set<std::string> seen;
  for (std::string& key : KernelKeys(planned.graph, planned.model, planning.kernels)) {
    if (key.empty() || !seen.insert(key).second) continue;
    ++use.problems;
    use.answered += planning.record->choices.contains(key);
  }
  return use;
}

std::vector<std::string> NamesOfBuffers(const PlannedGraph& planned) {
  const Graph& graph = planned.graph;
  std::vector<std::string> names(planned.lifetimes.problem.buffers.size());
  for (size_t s = 0; s < planned.model.storages.size(); ++s) {
    const int buffer = planned.lifetimes.storage_buffer[s];
    if (buffer < 0) continue;
    const Storage& storage = planned.model.storages[s];
    names[buffer] = absl::StrCat(graph.var(storage.owner).name, storage.whole >= 0 ? ":part" : "");
  }
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const int buffer = planned.lifetimes.workspace_buffer[n];
    if (buffer >= 0) names[buffer] = graph.node(static_cast<int>(n)).workspace_name();
  }
  return names;
}

}  // namespace ashlar
