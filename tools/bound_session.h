// A compiled model with tensors bound to all of its inputs and outputs: ready to run.
#ifndef ASHLAR_TOOLS_BOUND_SESSION_H_
#define ASHLAR_TOOLS_BOUND_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/measure/measure.h"
#include "runtime/session/session.h"
#include "serialization/npz.h"
#include "tools/console.h"
#include "tools/model.h"

namespace ashlar {

class BoundSession {
 public:
  // Plans and packs `model`, then releases the pages of its file.
  static absl::StatusOr<std::unique_ptr<BoundSession>> Create(Model model,
                                                              const PlanRequest& request,
                                                              InputTensors inputs,
                                                              Console& console);

  // Creates a session from an existing plan.
  static absl::StatusOr<std::unique_ptr<BoundSession>> FromPlan(
      std::unique_ptr<PlannedGraph> planned, InputTensors inputs);

  absl::Status Run() { return session_->Run(); }
  absl::Status Run(RunListener& listener) { return session_->Run(listener); }

  Session& session() { return *session_; }
  const PlannedGraph& planned() const { return session_->executable().planned(); }
  // Returns the tensors that runs read, whose elements may change between runs.
  InputTensors& inputs() { return inputs_; }
  // Returns the results of the last run, by name, in the order of the graph.
  const NamedTensors& outputs() const { return outputs_; }

 private:
  BoundSession() = default;
  static absl::StatusOr<std::unique_ptr<BoundSession>> Bind(
      std::shared_ptr<const Executable> executable, InputTensors inputs);

  InputTensors inputs_;
  NamedTensors outputs_;
  std::unique_ptr<Session> session_;
};

// Within a budget for the total, or with streamed weights: lets go of the code that was used so
// far, before another part of the program needs memory.
void LetGoOfUsedCode(const PlannedGraph& planned);

// Prints a note if runs could not be recorded (Session::recording_status).
void NoteRecording(const absl::Status& status, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_BOUND_SESSION_H_
