#include "graph/graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ashlar {

std::string Describe(const OperatorNode& node, size_t longest_name) {
  return absl::StrCat(node.name.substr(0, longest_name), " (", node.op->type(), ", ", node.id, ")");
}

bool Graph::HasHostReader(int var) const {
  return std::any_of(readers(var).begin(), readers(var).end(), [&](int reader) {
    const OperatorNode& node = nodes_[reader];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool on_host = node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue;
      if (node.inputs[i] == var && on_host) return true;
    }
    return false;
  });
}

std::vector<TensorType> Graph::InputTypes(const OperatorNode& node) const {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (int var : node.inputs) types.push_back(vars_[var].type);
  return types;
}

std::vector<TensorType> Graph::OutputTypes(const OperatorNode& node) const {
  std::vector<TensorType> types;
  types.reserve(node.outputs.size());
  for (int var : node.outputs) types.push_back(vars_[var].type);
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

bool Graph::HasWeights(const OperatorNode& node) const {
  if (node.op->role() != Role::kCompute) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (constant(node.inputs[i]) != nullptr &&
        node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue) {
      return node.op->Computation(SiteOf(node)) > 0;
    }
  }
  return false;
}

Graph Graph::WithoutConstantData(absl::Span<const int> vars, const OperatorTable& operators) const {
  Graph graph = *this;
  for (int var : vars) {
    const TensorType& type = vars_[var].type;
    OperatorNode& node = graph.nodes_[vars_[var].producer];
    node.constant =
        std::make_shared<const HostTensor>(HostTensor::ShapeOnly(type.dtype, type.shape));
    node.op = operators.MakeConstant(*node.constant);
  }
  return graph;
}

const HostTensor* Graph::host_value(int var) const {
  if (const HostTensor* value = constant(var)) return value;
  const auto it = host_values_.find(var);
  return it == host_values_.end() ? nullptr : &it->second;
}

}  // namespace ashlar
