// The reference evaluation: runs a graph by the host evaluation of its operators.
#ifndef ASHLAR_TOOLS_HOST_EVALUATION_H_
#define ASHLAR_TOOLS_HOST_EVALUATION_H_

#include "absl/status/statusor.h"
#include "graph/evaluate.h"
#include "runtime/measure/measure.h"
#include "serialization/npz.h"

namespace ashlar {

// Returns the outputs by name, as EvaluateNodes computes them.
absl::StatusOr<NamedTensors> EvaluateOnHost(const Graph& graph, const InputTensors& inputs,
                                            ValueVisitor visit = IgnoreValue);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_HOST_EVALUATION_H_
