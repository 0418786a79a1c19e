#include "quantization/graph_run.h"

#include <optional>
#include <utility>

#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/pool_file.h"
#include "runtime/session/run_values.h"

namespace ashlar {
namespace {

constexpr int64_t kLargeWeights = 16 << 20;  // smaller ones stay in memory

// Visits a var that is a view of an input, such as its Reshape.
absl::Status VisitView(const PlannedGraph& planned, int var, const InputTensors& inputs,
                       ValueVisitor visit) {
  const std::optional<Location> location = planned.Locate(var);
  if (!location || location->pool != Pool::kInput) return absl::OkStatus();
  const auto given = inputs.find(planned.graph.inputs()[location->binding].name);
  if (given == inputs.end()) return absl::OkStatus();
  const Var& view = planned.graph.var(var);
  return visit(
      view, RowMajor(view.type, static_cast<const char*>(given->second.raw()) + location->offset));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GraphRun>> GraphRun::Create(Graph graph, const PlanTarget& target,
                                                           const std::string& passes,
                                                           const RunMemory& memory) {
  PlanRequest request;
  request.target = target;
  request.planning.passes = passes;
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanGraph(std::move(graph), request));
  std::shared_ptr<const Executable> executable;
  if (!memory.folder.empty() && planned->weights.bytes >= kLargeWeights) {
    ASHLAR_ASSIGN_OR_RETURN(PackedModel packed,
                            Executable::ToPacked(std::move(planned), memory.done_with));
    ASHLAR_RETURN_IF_ERROR(PackIntoFile(memory.folder, packed));
    ASHLAR_ASSIGN_OR_RETURN(executable, Executable::FromPacked(std::move(packed), request));
  } else {
    ASHLAR_ASSIGN_OR_RETURN(
        executable, Executable::FromPlan(std::move(planned), {.done_with = memory.done_with}));
  }
  auto run = std::make_unique<GraphRun>();
  ASHLAR_ASSIGN_OR_RETURN(run->session_, Session::Create(executable));
  run->outputs_ = OutputTensors(executable->graph());
  return run;
}

absl::StatusOr<const std::vector<HostTensor>*> GraphRun::Run(const InputTensors& inputs,
                                                             ValueVisitor visit) {
  ASHLAR_RETURN_IF_ERROR(BindTensors(*session_, inputs, outputs_));
  // Visits values that share the caller's memory, because the session does not show them.
  const Graph& graph = session_->executable().graph();
  for (const Binding& input : graph.inputs()) {
    const auto given = inputs.find(input.name);
    if (given != inputs.end()) ASHLAR_RETURN_IF_ERROR(visit(graph.var(input.var), given->second));
  }
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() == Role::kCompute) {
      for (const int var : node.outputs) {
        ASHLAR_RETURN_IF_ERROR(VisitView(session_->executable().planned(), var, inputs, visit));
      }
    }
  }
  ASHLAR_RETURN_IF_ERROR(RunAndVisit(*session_, visit));
  return &outputs_;
}

}  // namespace ashlar
