#include "graph/evaluate.h"

#include <algorithm>
#include <utility>

#include "graph/file_mapping.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Returns the values of a node's outputs.
absl::StatusOr<std::vector<HostTensor>> Evaluated(const Graph& graph, const OperatorNode& node,
                                                  absl::Span<const HostTensor> values,
                                                  InputOnHost input, ValueVisitor visit) {
  if (node.op->role() == Role::kConstant) return std::vector<HostTensor>{*node.constant};
  if (node.op->role() == Role::kInput) {
    ASHLAR_ASSIGN_OR_RETURN(HostTensor value, input(node));
    return std::vector<HostTensor>{std::move(value)};
  }
  std::vector<HostTensor> operands;
  for (const int var : node.inputs) operands.push_back(values[var]);
  absl::StatusOr<std::vector<HostTensor>> results =
      EvaluateOperator(*node.op, operands, graph.OutputTypes(node));
  if (!results.ok()) return Annotate(results.status(), Describe(node));
  for (size_t o = 0; o < results->size(); ++o) {
    ASHLAR_RETURN_IF_ERROR(visit(graph.var(node.outputs[o]), (*results)[o]));
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> EvaluateOperator(const Operator& op,
                                                         absl::Span<const HostTensor> inputs,
                                                         absl::Span<const TensorType> outputs) {
  const auto has_elements = [](const TensorType& type) { return type.shape.num_elements() > 0; };
  if (std::any_of(outputs.begin(), outputs.end(), has_elements)) {
    for (const HostTensor& input : inputs) {
      ASHLAR_RETURN_IF_ERROR(LoadIfMapped(input.source().raw(), input.source().bytes()));
    }
    return op.Evaluate(inputs);
  }
  std::vector<HostTensor> values;
  for (const TensorType& type : outputs) values.push_back(HostTensor::Zeros(type));
  return values;
}

absl::StatusOr<std::vector<HostTensor>> EvaluateNodes(const Graph& graph, InputOnHost input,
                                                      ValueVisitor visit) {
  std::vector<HostTensor> values(graph.vars().size());
  std::vector<bool> is_output(values.size());
  for (const Binding& output : graph.outputs()) is_output[output.var] = true;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const OperatorNode& node = graph.nodes()[i];
    if (node.op->role() == Role::kOutput) continue;
    ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                            Evaluated(graph, node, values, input, visit));
    for (size_t o = 0; o < results.size(); ++o) values[node.outputs[o]] = std::move(results[o]);
    for (const int var : node.inputs) {
      const bool is_last = graph.readers(var).back() == static_cast<int>(i);
      if (is_last && !is_output[var]) values[var] = HostTensor();
    }
  }
  std::vector<HostTensor> outputs;
  for (const Binding& output : graph.outputs()) outputs.push_back(values[output.var]);
  return outputs;
}

}  // namespace ashlar
