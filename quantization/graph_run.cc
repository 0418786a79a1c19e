#include "quantization/graph_run.h"

#include <utility>

#include "graph/status.h"
#include "runtime/session/run_values.h"

namespace ashlar {

absl::StatusOr<std::unique_ptr<GraphRun>> GraphRun::Create(Graph graph, const PlanTarget& target,
                                                           const std::string& passes) {
  PlanRequest request;
  request.target = target;
  request.planning.passes = passes;
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph), request));
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
  ASHLAR_RETURN_IF_ERROR(RunAndVisit(*session_, visit));
  return &outputs_;
}

}  // namespace ashlar
