#include "tools/host_evaluation.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/evaluate.h"
#include "graph/status.h"

namespace ashlar {

absl::StatusOr<NamedTensors> EvaluateOnHost(
    const Graph& graph, const InputTensors& inputs,
    absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)> visit) {
  std::vector<HostTensor> values(graph.vars().size());
  NamedTensors outputs;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const OperatorNode& node = graph.node(static_cast<int>(i));
    switch (node.op->role()) {
      case Role::kInput:
        values[node.outputs[0]] = inputs.at(node.binding);
        break;
      case Role::kConstant:
        values[node.outputs[0]] = *node.constant;
        break;
      case Role::kOutput:
        outputs.emplace_back(node.binding, values[node.inputs[0]]);
        break;
      case Role::kState:  // with its initial value
      case Role::kCompute: {
        std::vector<HostTensor> operands;
        for (int input : node.inputs) operands.push_back(values[input]);
        absl::StatusOr<std::vector<HostTensor>> results =
            EvaluateOperator(*node.op, operands, graph.OutputTypes(node));
        if (!results.ok()) {
          return Annotate(results.status(), Describe(node));
        }
        for (size_t o = 0; o < results->size(); ++o) {
          ASHLAR_RETURN_IF_ERROR(visit(graph.var(node.outputs[o]), (*results)[o]));
          values[node.outputs[o]] = std::move((*results)[o]);
        }
        break;
      }
    }
    for (int input : node.inputs) {
      if (graph.readers(input).back() == static_cast<int>(i)) values[input] = HostTensor();
    }
  }
  return outputs;
}

}  // namespace ashlar
