#include "graph/graph.h"

#include <algorithm>

namespace ashlar {

absl::Span<const int> Graph::value_outputs(const OperatorNode& node) const {
  absl::Span<const int> outputs = node.outputs;
  return node.op->has_workspace() ? outputs.first(outputs.size() - 1) : outputs;
}

std::vector<TensorType> Graph::InputTypes(const OperatorNode& node) const {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (int var : node.inputs) types.push_back(vars_[var].type);
  return types;
}

std::vector<TensorType> Graph::OutputTypes(const OperatorNode& node) const {
  std::vector<TensorType> types;
  for (int var : value_outputs(node)) types.push_back(vars_[var].type);
  return types;
}

std::vector<InputInfo> Graph::InputInfos(const OperatorNode& node) const {
  std::vector<InputInfo> infos;
  infos.reserve(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const int var = node.inputs[i];
    const bool needs_value = node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue;
    infos.push_back({vars_[var].type, needs_value ? host_value(var) : constant(var)});
  }
  return infos;
}

const HostTensor* Graph::constant(int var) const {
  return nodes_[vars_[var].producer].op->constant();
}

Graph Graph::WithoutConstantData(absl::Span<const int> vars, const OperatorTable& operators) const {
  Graph graph = *this;
  for (int var : vars) {
    const TensorType& type = vars_[var].type;
    graph.nodes_[vars_[var].producer].op =
        operators.MakeConstant(HostTensor::ShapeOnly(type.dtype, type.shape));
  }
  return graph;
}

const HostTensor* Graph::host_value(int var) const {
  if (const HostTensor* value = constant(var)) return value;
  const auto it = host_values_.find(var);
  return it == host_values_.end() ? nullptr : &it->second;
}

}  // namespace ashlar
