#include "runtime/session/bind_tensors.h"

#include "graph/status.h"

namespace ashlar {

std::vector<HostTensor> OutputTensors(const Graph& graph) {
  std::vector<HostTensor> outputs;
  for (const Binding& binding : graph.outputs()) {
    const TensorType& type = graph.var(binding.var).type;
    outputs.push_back(HostTensor::Zeros(type));
  }
  return outputs;
}

absl::Status BindTensors(Session& session, const InputTensors& inputs,
                         std::vector<HostTensor>& outputs) {
  const Graph& graph = session.executable().graph();
  for (const Binding& binding : graph.inputs()) {
    const auto it = inputs.find(binding.name);
    if (it == inputs.end()) {
      return absl::InvalidArgumentError(absl::StrCat("no tensor for input '", binding.name, "'"));
    }
    ASHLAR_RETURN_IF_ERROR(session.BindInput(binding.name, it->second.raw(), it->second.bytes()));
  }
  if (outputs.size() > graph.outputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        outputs.size(), " tensors for outputs, of which there are ", graph.outputs().size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASHLAR_RETURN_IF_ERROR(
        session.BindOutput(graph.outputs()[i].name, outputs[i].mutable_raw(), outputs[i].bytes()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> BindTensors(Session& session, const InputTensors& inputs) {
  std::vector<HostTensor> outputs = OutputTensors(session.executable().graph());
  ASHLAR_RETURN_IF_ERROR(BindTensors(session, inputs, outputs));
  return outputs;
}

}  // namespace ashlar
