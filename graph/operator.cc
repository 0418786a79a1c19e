#include "graph/operator.h"

namespace ashlar {

InferRule Operator::shape_rule(int num_inputs) const {
  InferRule rule;
  switch (role()) {
    case Role::kInput:
    case Role::kConstant:
      rule.source = InferRule::Source::kConstant;
      return rule;
    case Role::kOutput:
      return rule;
    case Role::kCompute:
      break;
  }
  rule.source = InferRule::Source::kInputs;
  for (int i = 0; i < num_inputs; ++i) {
    rule.deps.push_back({i, input_use(i) == InputUse::kHostValue});
  }
  return rule;
}

InferRule Operator::value_rule(int /*num_inputs*/) const {
  InferRule rule;
  if (role() == Role::kConstant) rule.source = InferRule::Source::kConstant;
  return rule;
}

InferRule InferRule::ValuesOf(int num_inputs) {
  InferRule rule{Source::kInputs, {}};
  for (int i = 0; i < num_inputs; ++i) rule.deps.push_back({i, true});
  return rule;
}

std::vector<TensorType> TypesOf(absl::Span<const InputInfo> infos) {
  std::vector<TensorType> types;
  types.reserve(infos.size());
  for (const InputInfo& info : infos) types.push_back(info.type);
  return types;
}

Footprint FootprintOf(const Operator& op, absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) {
  Footprint footprint;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op.input_use(static_cast<int>(i)) != InputUse::kDeviceValue) continue;
    footprint.memory += inputs[i].shape.num_elements() * SizeOf(inputs[i].dtype);
  }
  for (const TensorType& output : outputs) {
    footprint.memory += output.shape.num_elements() * SizeOf(output.dtype);
  }
  footprint.computation = op.Computation(inputs, outputs);
  return footprint;
}

}  // namespace ashlar
