#include "tools/host_evaluation.h"

#include <utility>

#include "graph/status.h"

namespace ashlar {

absl::StatusOr<NamedTensors> EvaluateOnHost(const Graph& graph, const InputTensors& inputs,
                                            ValueVisitor visit) {
  ASHLAR_ASSIGN_OR_RETURN(
      std::vector<HostTensor> values,
      EvaluateNodes(
          graph, [&](const OperatorNode& input) { return inputs.at(input.binding); }, visit));
  NamedTensors outputs;
  for (size_t i = 0; i < values.size(); ++i) {
    outputs.emplace_back(graph.outputs()[i].name, std::move(values[i]));
  }
  return outputs;
}

}  // namespace ashlar
