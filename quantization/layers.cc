#include "quantization/layers.h"

#include <algorithm>
#include <numeric>

#include "runtime/device/kernel.h"

namespace ashlar {
namespace {

// An arbitrary 8-bit type for queries.
TensorType AnyBytes(const Shape& shape) {
  return {DType::kQuantized8Asymm, shape, Format::kDefault,
          *Quantization::Make(DType::kQuantized8Asymm, {1.0f})};
}

// Whether the operator only moves bytes, and the device has a kernel for it.
bool MovesBytes(const Graph& graph, const OperatorNode& node, const Device& device) {
  std::vector<InputInfo> infos = graph.InputInfos(node);
  for (size_t i = 0; i < infos.size(); ++i) {
    const bool tensor = node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue;
    if (!tensor || infos[i].type.dtype != DType::kFloat32) continue;
    infos[i] = {AnyBytes(infos[i].type.shape), nullptr};
  }
  std::vector<TensorType> bytes;
  for (const TensorType& type : graph.OutputTypes(node)) bytes.push_back(AnyBytes(type.shape));
  const absl::StatusOr<std::vector<TensorType>> outputs = node.op->Infer(infos);
  if (!outputs.ok() || *outputs != bytes) return false;
  const KernelFactory* const factory = device.kernels().Find(node.op->type());
  if (factory == nullptr) return false;
  KernelRequest request;
  request.op = node.op.get();
  for (size_t i = 0; i < infos.size(); ++i) {
    request.inputs.push_back(infos[i].type);
    request.constant.push_back(infos[i].value != nullptr);
    const bool host = node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue;
    request.host_values.push_back(host ? infos[i].value : nullptr);
  }
  request.outputs = *outputs;
  request.processor = device.processor();
  return (*factory)(request).ok();
}

class LayerPlanner {
 public:
  LayerPlanner(const Graph& graph, const std::set<std::string>& keep, const Device& device)
      : graph_(graph), keep_(keep), device_(device) {
    plan_.treatment.assign(graph.nodes().size(), Treatment::kFloats);
    plan_.reasons.assign(graph.nodes().size(), "");
    plan_.type_of.assign(graph.vars().size(), -1);
    plan_.ranged.assign(graph.vars().size(), false);
    joined_.resize(graph.vars().size());
    std::iota(joined_.begin(), joined_.end(), 0);
  }

  LayerPlan Plan() && {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const OperatorNode& node = graph_.node(static_cast<int>(i));
      if (node.op->role() != Role::kCompute) continue;
      plan_.treatment[i] = TreatmentOf(node, plan_.reasons[i]);
      if (plan_.treatment[i] != Treatment::kFloats) Type(node, plan_.treatment[i]);
    }
    for (size_t var = 0; var < joined_.size(); ++var) {
      if (plan_.type_of[var] >= 0) plan_.type_of[var] = RootOf(static_cast<int>(var));
    }
    return std::move(plan_);
  }

 private:
  Treatment TreatmentOf(const OperatorNode& node, std::string& reason) const {
    const auto floats = [&](const char* why) {
      reason = why;
      return Treatment::kFloats;
    };
    const std::vector<size_t> inputs = ComputedInputs(graph_, node);
    const std::vector<TensorType> outputs = graph_.OutputTypes(node);
    const bool of_floats = std::all_of(outputs.begin(), outputs.end(), [](const TensorType& type) {
      return type.dtype == DType::kFloat32;
    });
    if (inputs.empty() || !of_floats) return floats("no operator of 8 bits");
    if (keep_.count(node.name) > 0) return floats("kept in floats");
    const QuantizationRule rule = node.op->quantization_rule(graph_.SiteOf(node));
    if (rule == QuantizationRule::kLeads && outputs.size() == 1) return Treatment::kRounded;
    const bool follows = std::any_of(inputs.begin(), inputs.end(), [&](size_t i) {
      return plan_.IsBytes(graph_, node.inputs[i]);
    });
    const bool moves = rule == QuantizationRule::kFloats && MovesBytes(graph_, node, device_);
    if (!moves && (rule == QuantizationRule::kFloats || outputs.size() > 1)) {
      return floats("no operator of 8 bits");
    }
    if (!follows) return floats("behind floats alone");
    if (Saturates(node)) return Treatment::kSaturated;
    return moves ? Treatment::kMoved : Treatment::kRounded;
  }

  bool Saturates(const OperatorNode& node) const {
    const int input = node.inputs[0];
    const int producer = graph_.var(input).producer;
    return node.op->Saturation().has_value() && graph_.readers(input).size() == 1 &&
           plan_.treatment[static_cast<size_t>(producer)] == Treatment::kRounded;
  }

  // Assigns 8-bit types to the node's tensors, and joins the types that must be equal.
  void Type(const OperatorNode& node, Treatment treatment) {
    const int output = node.outputs[0];
    for (const int each : node.outputs) {  // several: moved bytes, which have one type
      plan_.type_of[static_cast<size_t>(each)] = each;
      plan_.ranged[static_cast<size_t>(each)] = true;
      joined_[static_cast<size_t>(RootOf(each))] = RootOf(output);
    }
    for (const size_t i : ComputedInputs(graph_, node)) {
      const auto input = static_cast<size_t>(node.inputs[i]);
      if (plan_.type_of[input] < 0) plan_.ranged[input] = true;  // float, quantised here
      plan_.type_of[input] = node.inputs[i];
      if (treatment == Treatment::kMoved || treatment == Treatment::kSaturated) {
        joined_[static_cast<size_t>(RootOf(node.inputs[i]))] = RootOf(output);
      }
      if (treatment == Treatment::kSaturated) plan_.ranged[input] = false;
    }
  }

  int RootOf(int var) const {
    while (joined_[static_cast<size_t>(var)] != var) var = joined_[static_cast<size_t>(var)];
    return var;
  }

  const Graph& graph_;
  const std::set<std::string>& keep_;
  const Device& device_;
  LayerPlan plan_;
  std::vector<int> joined_;  // by var, another var of its type, or itself
};

}  // namespace

std::vector<size_t> ComputedInputs(const Graph& graph, const OperatorNode& node) {
  std::vector<size_t> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue &&
        graph.var(node.inputs[i]).type.dtype == DType::kFloat32 &&
        graph.constant(node.inputs[i]) == nullptr) {
      inputs.push_back(i);
    }
  }
  return inputs;
}

LayerPlan PlanLayers(const Graph& graph, const std::set<std::string>& keep, const Device& device) {
  return LayerPlanner(graph, keep, device).Plan();
}

}  // namespace ashlar
