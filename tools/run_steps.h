// Runs a model on one input after another, with its states carried from run to run.
#ifndef ASHLAR_TOOLS_RUN_STEPS_H_
#define ASHLAR_TOOLS_RUN_STEPS_H_

#include "absl/status/statusor.h"
#include "serialization/npz.h"
#include "tools/bound_session.h"
#include "tools/inputs.h"

namespace ashlar {

// Returns the inputs of the first run.
InputTensors FirstStep(const Graph& graph, const InputSteps& steps);

// Runs a session, which is bound to FirstStep, once for each step. Returns the outputs of all runs,
// with a dimension of the runs before their own; results whose size depends on data are not cut.
// ResourceExhausted if they exceed the machine's memory.
absl::StatusOr<NamedTensors> RunSteps(BoundSession& session, const InputSteps& steps);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_RUN_STEPS_H_
