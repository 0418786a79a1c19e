#include "tools/bound_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/device/code_pages.h"

namespace ashlar {

void LetGoOfUsedCode(const PlannedGraph& planned) {
  const bool limited = planned.weights.window || planned.request.target.total;
  if (planned.device->is_host() && limited) LetGoOfCode();
}

absl::StatusOr<std::unique_ptr<BoundSession>> BoundSession::Create(Model model,
                                                                   const PlanRequest& request,
                                                                   InputTensors inputs,
                                                                   Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          CompileModel(std::move(model), request, console));
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
  ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs,
                          BindTensors(*bound->session_, bound->inputs_));
  for (size_t i = 0; i < outputs.size(); ++i) {
    bound->outputs_.emplace_back(executable->graph().outputs()[i].name, std::move(outputs[i]));
  }
  LetGoOfUsedCode(executable->planned());  // runs need other pages, and touch the arena
  return bound;
}

void NoteRecording(const absl::Status& status, Console& console) {
  if (status.ok()) return;
  console.Note(absl::StrCat("the device took each step by itself, as runs could not be recorded: ",
                            status.message()));
}

}  // namespace ashlar
