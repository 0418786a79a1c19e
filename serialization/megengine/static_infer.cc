#include "serialization/megengine/static_infer.h"

#include <algorithm>
#include <utility>

#include "serialization/megengine/conventions.h"

namespace ashlar {
namespace {

using Deps = std::vector<InferTag::Dep>;

InferTag Resolve(Deps deps, const std::vector<InferTags>& tags) {
  InferTag tag{InferType::kConst, std::move(deps)};
  for (const InferTag::Dep& dep : tag.deps) {
    const InferType type = dep.value ? tags[dep.var].value.type : tags[dep.var].shape.type;
    tag.type = std::max(tag.type, type == InferType::kNoDesc ? InferType::kMissingInput : type);
  }
  return tag;
}

// The sources of a Subtensor: x and the bounds, but no idx.
Deps BoundDeps(const OperatorNode& node) {
  std::vector<int64_t> begin, end, step, idx;
  for (const auto& [name, value] : node.op->params()) {
    for (const auto& [column, into] : {std::pair("begin", &begin), std::pair("end", &end),
                                       std::pair("step", &step), std::pair("idx", &idx)}) {
      if (name == column) *into = std::get<std::vector<int64_t>>(value);
    }
  }
  Deps deps = {{node.inputs[0], false}};
  size_t next = 1;
  for (size_t row = 0; row < idx.size(); ++row) {
    for (const std::vector<int64_t>* given : {&begin, &end, &step}) {
      if (row < given->size() && (*given)[row] != 0 && next < node.inputs.size()) {
        deps.push_back({node.inputs[next++], true});
      }
    }
    if (idx[row] != 0) ++next;
  }
  return deps;
}

// Returns the sources of the shapes of a computing operator's outputs: the shapes of all inputs,
// and the values of inputs that it reads before the run.
Deps ShapeDeps(const OperatorNode& node) {
  if (node.op->type() == "Subtensor") return BoundDeps(node);
  Deps deps;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool value = node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue;
    deps.push_back({node.inputs[i], value});
  }
  return deps;
}

InferTag ShapeTag(const OperatorNode& node, const std::vector<InferTags>& tags) {
  switch (node.op->role()) {
    case Role::kInput:
    case Role::kConstant:
    case Role::kState:
      return {InferType::kConst, {}};
    case Role::kOutput:
      return {};
    case Role::kCompute:
      break;
  }
  return Resolve(ShapeDeps(node), tags);
}

InferTag ValueTag(const OperatorNode& node, const std::vector<InferTags>& tags) {
  if (node.op->role() == Role::kConstant) return {InferType::kConst, {}};
  switch (ConventionsOf(node.op->type()).value) {
    case ValueInference::kNone:
      return {};
    case ValueInference::kMutable:
      return {InferType::kRtStatic, {}};
    case ValueInference::kInputValues: {
      Deps deps;
      for (int input : node.inputs) deps.push_back({input, true});
      return Resolve(std::move(deps), tags);
    }
    case ValueInference::kInputShapes:
      return Resolve(ShapeDeps(node), tags);
    case ValueInference::kReduced:
      return Resolve({{node.inputs[0], true}, {node.outputs[0], false}}, tags);
  }
  return {};
}

}  // namespace

absl::string_view Name(InferType type) {
  static constexpr const char* kNames[] = {"NO_DESC", "CONST", "RT_STATIC", "MISSING_INP"};
  return kNames[static_cast<int>(type)];
}

std::vector<InferTags> ComputeInferTags(const Graph& graph) {
  std::vector<InferTags> tags(graph.vars().size());
  for (const OperatorNode& node : graph.nodes()) {
    for (int output : node.outputs) {
      tags[output].shape = ShapeTag(node, tags);
      tags[output].value = ValueTag(node, tags);
    }
  }
  return tags;
}

InferTag WorkspaceShapeTag(const OperatorNode& node, const std::vector<InferTags>& tags) {
  Deps deps;
  for (int input : node.inputs) deps.push_back({input, false});
  deps.push_back({node.outputs[0], false});
  return Resolve(std::move(deps), tags);
}

}  // namespace ashlar
