// The reference evaluation: runs a graph by the host evaluation of its operators.
#ifndef ASHLAR_TOOLS_HOST_EVALUATION_H_
#define ASHLAR_TOOLS_HOST_EVALUATION_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/measure/measure.h"
#include "serialization/npz.h"

namespace ashlar {

// Evaluates every node in order and returns the outputs by name. `visit` sees each value when it is
// computed; an error that it returns ends the evaluation. A value is freed after its last reader.
absl::StatusOr<NamedTensors> EvaluateOnHost(
    const Graph& graph, const InputTensors& inputs,
    absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)> visit);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_HOST_EVALUATION_H_
