#include "runtime/plan/record/plan_as_recorded.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "memory/problem/solution.h"
#include "memory/problem/validator.h"
#include "opr/table.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/plan/stages/stages.h"
#include "runtime/plan/stages/stream_weights.h"
#include "runtime/plan/stages/time_estimate.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

constexpr size_t kShownName = 64;  // longest part of a name from a file that messages show

template <typename... Parts>
absl::Status Edited(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename... Parts>
absl::Status Unsuited(const Parts&... parts) {
  return absl::FailedPreconditionError(absl::StrCat(parts...));
}

// Returns the scheduled nodes with these ids. Fails unless they are all scheduled nodes, each after
// the nodes that have to run before it.
absl::StatusOr<std::vector<int>> NodesInOrder(const Graph& graph, const StorageModel& model,
                                              absl::Span<const int> ids) {
  absl::flat_hash_map<int, int> node_of;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (model.scheduled[i]) node_of[graph.node(static_cast<int>(i)).id] = static_cast<int>(i);
  }
  if (ids.size() != node_of.size()) {
    return Edited("an order of ", ids.size(), " operators; the graph has ", node_of.size());
  }
  std::vector<int> order, position(graph.nodes().size(), -1);
  for (const int id : ids) {
    const auto it = node_of.find(id);
    if (it == node_of.end()) return Edited("the order has operator ", id, ", the graph has none");
    if (position[it->second] >= 0) return Edited("the order has operator ", id, " twice");
    position[it->second] = static_cast<int>(order.size());
    order.push_back(it->second);
  }
  const auto check = [&](int first, int then) -> absl::Status {
    if (!model.scheduled[first] || position[first] < position[then]) return absl::OkStatus();
    return Edited("the order has ", Describe(graph.node(then), kLongestUncheckedName), " before ",
                  Describe(graph.node(first), kLongestUncheckedName),
                  ", which has to run before it");
  };
  for (const int node : order) {
    for (size_t i = 0; i < graph.node(node).inputs.size(); ++i) {
      if (graph.node(node).op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) continue;
      ASHLAR_RETURN_IF_ERROR(check(graph.var(graph.node(node).inputs[i]).producer, node));
    }
  }
  for (const RunsBefore& edge : model.runs_before) {
    ASHLAR_RETURN_IF_ERROR(check(edge.first, edge.then));
  }
  return order;
}

// Tiles the record's graph, whose passes have run, as recorded.
absl::StatusOr<RewrittenGraph> TileAsRecorded(RewrittenGraph rewritten, const RecordedPlan& plan) {
  if (plan.target.tiles.empty()) return rewritten;
  ASHLAR_ASSIGN_OR_RETURN(const Device* device, OpenDevice(plan.target.comp_node));
  const StorageModel model =
      BuildStorageModel(rewritten.graph, StorageOn(*device, plan.target, plan.planning));
  absl::StatusOr<std::vector<int>> order =
      NodesInOrder(rewritten.graph, model, plan.order_before_tiles);
  if (!order.ok()) return Annotate(order.status(), "before the tiles");
  ASHLAR_ASSIGN_OR_RETURN(rewritten.graph, Tile(rewritten.graph, plan.target.tiles, *order,
                                                Operators(), nullptr, rewritten.adds_quantized));
  return rewritten;
}

// Returns by node the kernel with the recorded name and workspace.
absl::StatusOr<std::vector<std::shared_ptr<const Kernel>>> KernelsOf(
    const Graph& graph, const KernelCandidates& candidates, absl::Span<const int> order,
    absl::Span<const RecordedStep> steps) {
  std::vector<std::shared_ptr<const Kernel>> kernels(candidates.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const RecordedStep& step = steps[i];
    const std::vector<std::shared_ptr<const Kernel>>& offered = candidates[order[i]];
    const std::string where = Describe(graph.node(order[i]), kLongestUncheckedName);
    if (offered.empty() != step.kernel.empty() || (offered.empty() && step.workspace_bytes != 0)) {
      return Edited(where, offered.empty() ? " has nothing to run, and a kernel is named"
                                           : " has to run, and no kernel is named for it");
    }
    if (offered.empty()) continue;
    const auto kernel = std::find_if(offered.begin(), offered.end(), [&](const auto& candidate) {
      return candidate->implementation() == step.kernel &&
             candidate->workspace_bytes() == step.workspace_bytes;
    });
    if (kernel == offered.end()) {
      return Unsuited(where, ": there is no kernel '", step.kernel.substr(0, kShownName),
                      "' with a workspace of ", step.workspace_bytes, " bytes; there are ",
                      absl::StrJoin(offered, ", ", [](std::string* out, const auto& candidate) {
                        absl::StrAppend(out, "'", candidate->implementation(), "' with ",
                                        candidate->workspace_bytes());
                      }));
    }
    kernels[order[i]] = *kernel;
  }
  return kernels;
}

// Keeps the recorded relations of all possible ones.
absl::StatusOr<Lifetimes> RelateAsRecorded(const Lifetimes& all, const RecordedPlan& plan) {
  const std::vector<memory::Inside>& inside = all.problem.inside;
  std::vector<bool> kept;
  int64_t count = 0;
  for (const memory::Inside& relation : inside) {
    const RecordedChunk& chunk = plan.chunks[relation.inner];
    kept.push_back(chunk.inside == relation.outer && chunk.at == relation.offset);
    count += kept.back();
  }
  const int64_t recorded = std::count_if(plan.chunks.begin(), plan.chunks.end(),
                                         [](const RecordedChunk& c) { return c.inside >= 0; });
  if (count != recorded) {
    return Edited(recorded, " chunks lie inside of others; in the graph, ", count, " of them can");
  }
  return KeepRelations(all, kept);
}

absl::Status CheckChunks(const memory::Problem& problem, const RecordedPlan& plan) {
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const memory::Buffer &expected = problem.buffers[i], &chunk = plan.chunks[i].buffer;
    if (chunk.id == expected.id && chunk.lower == expected.lower && chunk.upper == expected.upper &&
        chunk.size == expected.size && chunk.alignment == expected.alignment) {
      continue;
    }
    const auto text = [](const memory::Buffer& b) {
      return absl::StrCat("id ", b.id, ", ", b.size, " bytes at a multiple of ", b.alignment,
                          ", steps [", b.lower, ", ", b.upper, ")");
    };
    return Edited("chunk ", i, " '", plan.chunks[i].name.substr(0, kShownName), "' is ",
                  text(chunk), "; the graph makes it ", text(expected));
  }
  return absl::OkStatus();
}

// A planner that places groups at the recorded addresses of their buffers.
class RecordedPlanner final : public memory::Planner {
 public:
  RecordedPlanner(const RecordedPlan& plan, absl::Span<const int64_t> offsets)
      : plan_(plan), offsets_(offsets) {}
  absl::string_view name() const override { return plan_.found_by; }
  absl::string_view description() const override { return "as recorded"; }
  memory::Solution Solve(const memory::Instance& instance, int64_t,
                         const memory::SearchLimits&) const override {
    memory::Solution solution;
    solution.bases.resize(static_cast<size_t>(instance.groups()));
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const int buffer = static_cast<int>(i);
      solution.bases[instance.group_of(buffer)] = offsets_[i] - instance.offset_in_group(buffer);
    }
    solution.arena = instance.Arena(solution.bases);
    solution.planner = plan_.found_by;
    solution.proven_bound = plan_.proven_bound;
    return solution;
  }

 private:
  const RecordedPlan& plan_;
  const absl::Span<const int64_t> offsets_;
};

// Returns the recorded addresses if they are valid.
absl::StatusOr<memory::PlanResult> AddressesOf(const RecordedPlan& plan,
                                               const memory::Problem& problem) {
  memory::Plan recorded;
  for (const RecordedChunk& chunk : plan.chunks) {
    recorded.offsets.push_back(chunk.buffer.offset.value_or(-1));
  }
  recorded.arena = plan.arena;
  if (const memory::Verdict verdict = memory::ValidatePlan(problem, recorded); !verdict.ok()) {
    return Edited(verdict.message);
  }
  // Computes the bound and the proof. The validator has checked that each buffer lies at its place
  // in its group.
  ASHLAR_ASSIGN_OR_RETURN(memory::PlanResult result,
                          memory::PlanMemory(problem, RecordedPlanner(plan, recorded.offsets), {}));
  if (result.lower_bound != plan.lower_bound || result.bottleneck_step != plan.bottleneck_step) {
    return Edited("a lower bound of ", plan.lower_bound, " bytes at step ", plan.bottleneck_step,
                  "; it is ", result.lower_bound, " at step ", result.bottleneck_step);
  }
  return result;
}

absl::Status CheckPools(const PlannedGraph& planned, const RecordedPlan& plan) {
  if (planned.weights.bytes == plan.weights && planned.input_bytes() == plan.inputs &&
      planned.output_bytes() == plan.outputs) {
    return absl::OkStatus();
  }
  return Edited("pools of ", plan.weights, " bytes of weights, ", plan.inputs, " of inputs and ",
                plan.outputs, " of outputs; the graph has ", planned.weights.bytes, ", ",
                planned.input_bytes(), " and ", planned.output_bytes());
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> Place(RewrittenGraph rewritten,
                                                    const PlanRequest& request) {
  const auto& [target, planning, debug] = request;
  const RecordedPlan& plan = *planning.recorded;
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          BeginPlan(std::move(rewritten), request));
  Device& device = *planned->device;
  if (!(planned->processor() == plan.processor)) {
    return Unsuited("the plan is for the processor ", plan.processor.ToString(), ", this is ",
                    planned->processor().ToString());
  }
  const Graph& graph = planned->graph;
  const StorageModel& model = planned->model;

  std::vector<int> ids;
  for (const RecordedStep& step : plan.steps) ids.push_back(step.id);
  ASHLAR_ASSIGN_OR_RETURN(planned->schedule.order, NodesInOrder(graph, model, ids));

  // The kernels that the recorded plan may use. On a device other than the host, kernels that are
  // expected to be fast need not be among all candidates.
  KernelPolicy policy = planning.kernels;
  policy.packed_before = true;
  const bool tuned = !plan.record.path.empty();
  policy.all_candidates = tuned && device.is_host();
  ASHLAR_ASSIGN_OR_RETURN(KernelCandidates candidates,
                          FindKernels(graph, model, device, target, policy));
  if (tuned && !device.is_host()) {
    policy.all_candidates = true;
    ASHLAR_ASSIGN_OR_RETURN(const KernelCandidates all,
                            FindKernels(graph, model, device, target, policy));
    for (size_t i = 0; i < all.size(); ++i) {
      candidates[i].insert(candidates[i].end(), all[i].begin(), all[i].end());
    }
  }
  ASHLAR_ASSIGN_OR_RETURN(planned->kernels,
                          KernelsOf(graph, candidates, planned->schedule.order, plan.steps));
  planned->workspace.resize(graph.nodes().size(), 0);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    planned->workspace[planned->schedule.order[i]] = plan.steps[i].workspace_bytes;
  }
  planned->schedule.peak_bytes =
      SimulatePeak(graph, model, planned->schedule.order, planned->workspace);

  const int64_t alignment =
      debug.alignment > 0 ? debug.alignment : device.arena_alignment(planned->processor());
  planned->lifetimes = ComputeLifetimes(graph, model, planned->schedule.order, planned->workspace,
                                        alignment, debug.guard_bytes);
  if (planned->lifetimes.problem.buffers.size() != plan.chunks.size()) {
    return Edited(plan.chunks.size(), " chunks; the graph has ",
                  planned->lifetimes.problem.buffers.size());
  }
  ASHLAR_ASSIGN_OR_RETURN(planned->lifetimes, RelateAsRecorded(planned->lifetimes, plan));
  if (debug.guard_bytes > 0) {
    ASHLAR_ASSIGN_OR_RETURN(planned->plan,
                            memory::PlanMemory(planned->lifetimes.problem, planning.planner));
  } else {
    ASHLAR_RETURN_IF_ERROR(CheckChunks(planned->lifetimes.problem, plan));
    ASHLAR_ASSIGN_OR_RETURN(planned->plan, AddressesOf(plan, planned->lifetimes.problem));
  }
  planned->plan.plan.arena -= std::min(debug.understate_bytes, planned->plan.plan.arena);
  planned->predicted_ms =
      EstimateTime(graph, model, SpeedOf(device, target, planning), planned->kernels);
  planned->extra_flops_ratio = plan.extra_flops_ratio;
  planned->weights = PlanWeights(graph, model, planned->kernels, alignment);
  planned->state = PlanStates(graph, model, alignment);
  ASHLAR_RETURN_IF_ERROR(CheckPools(*planned, plan));
  ASHLAR_RETURN_IF_ERROR(StreamWeights(*planned));
  return planned;
}

absl::Status Named(const absl::Status& status, const RecordedPlan& plan) {
  return plan.path.empty() ? status : Annotate(status, plan.path);
}

}  // namespace

PlanRequest RequestAsRecorded(std::shared_ptr<const RecordedPlan> recorded) {
  PlanRequest request = recorded->request();
  request.planning.recorded = std::move(recorded);
  return request;
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanAsRecorded(Graph graph,
                                                             const PlanRequest& request) {
  const RecordedPlan& plan = *request.planning.recorded;
  absl::StatusOr<RewrittenGraph> rewritten = RewriteGraph(
      std::move(graph), plan.target, plan.planning, {.tiled = plan.rewritten_for_tiles});
  if (!rewritten.ok()) return Named(rewritten.status(), plan);
  return PlanRewrittenAsRecorded(*std::move(rewritten), request);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanRewrittenAsRecorded(RewrittenGraph rewritten,
                                                                      const PlanRequest& request) {
  const RecordedPlan& plan = *request.planning.recorded;
  absl::StatusOr<RewrittenGraph> tiled = TileAsRecorded(std::move(rewritten), plan);
  if (!tiled.ok()) return Named(tiled.status(), plan);
  return PlaceAsRecorded(*std::move(tiled), request);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> PlaceAsRecorded(RewrittenGraph rewritten,
                                                              const PlanRequest& request) {
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned = Place(std::move(rewritten), request);
  if (!planned.ok()) return Named(planned.status(), *request.planning.recorded);
  return planned;
}

}  // namespace ashlar
