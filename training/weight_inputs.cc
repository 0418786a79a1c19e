#include "training/weight_inputs.h"

#include <algorithm>

#include "graph/one_value.h"
#include "opr/elemwise.h"

namespace ashlar {
namespace {

// The inputs of an operator that hold learned values.
struct WeightRow {
  absl::string_view type;
  std::vector<int> inputs;
};

const std::vector<WeightRow>& WeightRows() {
  static const auto* const rows = new std::vector<WeightRow>{
      {"ConvolutionForward", {1}},
      {"ConvBiasForward", {1, 2}},
      {"Convolution3DForward", {1, 2}},
      {"ConvolutionBackwardData", {1}},
      {"MatrixMul", {0, 1}},
      {"LayerNorm", {1, 2}},
      {"BatchNorm", {1, 2}},
  };
  return *rows;
}

const WeightRow* RowOfWeights(absl::string_view type) {
  for (const WeightRow& row : WeightRows()) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

// Whether a node only moves elements of its first input.
bool Moves(const Graph& graph, const OperatorNode& node) {
  if (node.op->role() != Role::kCompute || node.outputs.size() != 1) return false;
  return node.op->storage_rules(graph.SiteOf(node)).moves;
}

const OperatorNode& MakerOf(const Graph& graph, int var) {
  return graph.node(graph.var(MovedFrom(graph, var)).producer);
}

// Whether a node adds a bias: one addend is the output of an operator with weights.
bool AddsBias(const Graph& graph, const OperatorNode& node) {
  if (node.op->type() != Elemwise::kType || node.inputs.size() != 2) return false;
  if (static_cast<const Elemwise&>(*node.op).param().mode != ScalarFunction::kAdd) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
    return RowOfWeights(MakerOf(graph, input).op->type()) != nullptr;
  });
}

}  // namespace

std::vector<int> WeightInputs(const Graph& graph, const OperatorNode& node) {
  if (const WeightRow* const row = RowOfWeights(node.op->type())) return row->inputs;
  if (AddsBias(graph, node)) return {0, 1};
  return {};
}

bool IsWeight(const Graph& graph, int var) {
  const HostTensor* const value = graph.constant(var);
  if (value == nullptr || !value->has_data() || value->dtype() != DType::kFloat32) return false;
  return !graph.HasHostReader(var);  // a value needed before the run cannot be a state
}

VarRead ReadOfOriginal(const Graph& graph, VarRead read) {
  while (true) {
    const int var = graph.node(read.node).inputs[read.input];
    if (!Moves(graph, graph.node(graph.var(var).producer))) return read;
    read = {graph.var(var).producer, 0};
  }
}

int MovedFrom(const Graph& graph, int var) {
  const int maker = graph.var(var).producer;
  if (!Moves(graph, graph.node(maker))) return var;
  const VarRead read = ReadOfOriginal(graph, {maker, 0});
  return graph.node(read.node).inputs[read.input];
}

std::vector<int> LayerOf(const Graph& graph, VarRead weight) {
  std::vector<int> layer;
  const auto add = [&](int input) {
    const int var = MovedFrom(graph, input);
    const HostTensor* const value = graph.constant(var);
    if (value != nullptr && !HasOneValue(*value)) layer.push_back(var);
  };
  const auto add_all = [&](const OperatorNode& node, int except) {
    const WeightRow* const row = RowOfWeights(node.op->type());
    if (row == nullptr) return;
    for (const int input : row->inputs) {
      if (input != except && input < static_cast<int>(node.inputs.size())) add(node.inputs[input]);
    }
  };
  const OperatorNode& node = graph.node(weight.node);
  add_all(node, weight.input);
  if (!AddsBias(graph, node)) return layer;
  for (const int input : node.inputs) add_all(MakerOf(graph, input), -1);
  return layer;
}

}  // namespace ashlar
