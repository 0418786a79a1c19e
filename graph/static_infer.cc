#include "graph/static_infer.h"

#include <algorithm>

namespace ashlar {
namespace {

InferTag Resolve(const InferRule& rule, const OperatorNode& node,
                 const std::vector<InferTags>& tags) {
  InferTag tag;
  switch (rule.source) {
    case InferRule::Source::kNone:
      return tag;
    case InferRule::Source::kConstant:
      tag.type = InferType::kConst;
      return tag;
    case InferRule::Source::kMutable:
      tag.type = InferType::kRtStatic;
      return tag;
    case InferRule::Source::kInputs:
      break;
  }
  tag.type = InferType::kConst;
  for (const InferRule::Dep& dep : rule.deps) {
    const int var = dep.input == InferRule::kOwnOutput ? node.outputs[0] : node.inputs[dep.input];
    tag.deps.push_back({var, dep.value});
    const InferType type = dep.value ? tags[var].value.type : tags[var].shape.type;
    tag.type = std::max(tag.type, type == InferType::kNoDesc ? InferType::kMissingInput : type);
  }
  return tag;
}

}  // namespace

absl::string_view Name(InferType type) {
  static constexpr const char* kNames[] = {"NO_DESC", "CONST", "RT_STATIC", "MISSING_INP"};
  return kNames[static_cast<int>(type)];
}

std::vector<InferTags> ComputeInferTags(const Graph& graph) {
  std::vector<InferTags> tags(graph.vars().size());
  for (const OperatorNode& node : graph.nodes()) {
    const int num_inputs = static_cast<int>(node.inputs.size());
    const InferRule shape_rule = node.op->shape_rule(num_inputs);
    for (int output : graph.value_outputs(node)) {
      tags[output].shape = Resolve(shape_rule, node, tags);
      tags[output].value = Resolve(node.op->value_rule(num_inputs), node, tags);
    }
    if (!node.op->has_workspace()) continue;
    // A workspace's size follows from the shapes of all inputs and of the values made.
    InferRule rule{InferRule::Source::kInputs, {}};
    for (int i = 0; i < num_inputs; ++i) rule.deps.push_back({i, false});
    rule.deps.push_back({InferRule::kOwnOutput, false});
    tags[node.outputs.back()].shape = Resolve(rule, node, tags);
  }
  return tags;
}

}  // namespace ashlar
