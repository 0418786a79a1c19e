#include "tools/bound_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"

namespace ashlar {

absl::StatusOr<std::unique_ptr<BoundSession>> BoundSession::Create(Model model,
                                                                   const PlanningOptions& options,
                                                                   InputTensors inputs,
                                                                   Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          CompileModel(std::move(model), options, console));
  return Bind(std::move(executable), std::move(inputs));
}

absl::StatusOr<std::unique_ptr<BoundSession>> BoundSession::FromPlan(
    std::unique_ptr<PlannedGraph> planned, InputTensors inputs) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::FromPlan(std::move(planned)));
  return Bind(std::move(executable), std::move(inputs));
}

absl::StatusOr<std::unique_ptr<BoundSession>> BoundSession::Bind(
    std::shared_ptr<const Executable> executable, InputTensors inputs) {
  std::unique_ptr<BoundSession> bound(new BoundSession());
  bound->inputs_ = std::move(inputs);
  ASHLAR_ASSIGN_OR_RETURN(bound->session_, Session::Create(executable));
  const Graph& graph = executable->graph();
  for (const Binding& binding : graph.inputs()) {
    const HostTensor& tensor = bound->inputs_.at(binding.name);
    ASHLAR_RETURN_IF_ERROR(bound->session_->BindInput(binding.name, tensor.raw(), tensor.bytes()));
  }
  for (const Binding& binding : graph.outputs()) {
    const TensorType& type = graph.var(binding.var).type;
    HostTensor tensor = HostTensor::Zeros(type.dtype, type.shape);
    ASHLAR_RETURN_IF_ERROR(
        bound->session_->BindOutput(binding.name, tensor.mutable_raw(), tensor.bytes()));
    bound->outputs_.emplace_back(binding.name, std::move(tensor));
  }
  return bound;
}

void NoteRecording(const absl::Status& status, Console& console) {
  if (status.ok()) return;
  console.Note(
      absl::StrCat("note: the device took each step by itself, as runs could not be recorded: ",
                   status.message()));
}

}  // namespace ashlar
