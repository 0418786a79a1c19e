// Evaluates operators and graphs on the host.
#ifndef ASHLAR_GRAPH_EVALUATE_H_
#define ASHLAR_GRAPH_EVALUATE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"

namespace ashlar {

// Evaluates an operator whose outputs have the types `outputs`. If no output has elements, the
// operator is not called.
absl::StatusOr<std::vector<HostTensor>> EvaluateOperator(const Operator& op,
                                                         absl::Span<const HostTensor> inputs,
                                                         absl::Span<const TensorType> outputs);

// Evaluates every node in order and returns the graph's outputs in their order. `input` returns the
// value of an input node; states have their initial values. `visit` is passed each value that an
// operator computes; an error that it returns ends the evaluation. Frees a value after its last
// reader.
using InputOnHost = absl::FunctionRef<absl::StatusOr<HostTensor>(const OperatorNode& node)>;
using ValueVisitor = absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)>;
inline absl::Status IgnoreValue(const Var&, const HostTensor&) { return absl::OkStatus(); }
absl::StatusOr<std::vector<HostTensor>> EvaluateNodes(const Graph& graph, InputOnHost input,
                                                      ValueVisitor visit = IgnoreValue);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_EVALUATE_H_
