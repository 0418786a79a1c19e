#include "serialization/tflite/import/graph.h"

#include <algorithm>

#include "graph/evaluate.h"
#include "graph/status.h"
#include "serialization/reject.h"

namespace ashlar {

TfliteVar TfliteGraph::AddInput(const std::string& name, TensorType type) {
  return graph_.Add({std::move(type), name});
}

TfliteVar TfliteGraph::AddConstant(HostTensor value, const std::string& name) {
  TensorType type = {value.dtype(), value.shape(), Format::kDefault, value.quantization()};
  return graph_.Add({std::move(type), name, std::move(value)});
}

void TfliteGraph::SetName(TfliteVar var, const std::string& name) {
  if (graph_.at(var).name.empty()) graph_.at(var).name = name;
}

absl::Status TfliteGraph::CountCopied(int64_t bytes) {
  folded_bytes_ += bytes;
  if (folded_bytes_ <= most_folded_bytes_) return absl::OkStatus();
  return Reject("constants take more than ", most_folded_bytes_, " bytes");
}

absl::StatusOr<std::vector<TfliteVar>> TfliteGraph::Fold(const Operator& op,
                                                         const std::vector<TfliteVar>& inputs,
                                                         const Site& site) {
  for (const TensorType& type : site.outputs) {
    folded_bytes_ += type.shape.num_elements() * SizeOf(type.dtype);
    folded_operations_ += type.shape.num_elements();
  }
  const int64_t operations = op.Computation(site);
  if (folded_bytes_ > most_folded_bytes_ ||
      operations > most_folded_operations_ - folded_operations_) {
    return Reject("computing constants while reading takes more than ", most_folded_bytes_,
                  " bytes or ", most_folded_operations_, " operations");
  }
  folded_operations_ += operations;
  std::vector<HostTensor> operands;
  for (const TfliteVar input : inputs) operands.push_back(*constant(input));
  ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> values,
                          EvaluateOperator(op, operands, site.outputs));
  std::vector<TfliteVar> outputs;
  for (HostTensor& value : values) {
    outputs.push_back(AddConstant(std::move(value), graph_.at(inputs[0]).name));
  }
  return outputs;
}

absl::StatusOr<std::vector<TfliteVar>> TfliteGraph::Add(OperatorPtr op,
                                                        std::vector<TfliteVar> inputs) {
  std::vector<InputInfo> infos;
  for (const TfliteVar input : inputs) infos.push_back({type(input), constant(input)});
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, op->Infer(infos));
  for (const TensorType& type : types) {
    ASHLAR_RETURN_IF_ERROR(Shape::Make(type.shape.dims()).status());
  }
  const bool known = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](auto input) {
    return constant(input) != nullptr;
  });
  if (known) return Fold(*op, inputs, {infos, types});
  return graph_.Add(operator_name_, std::move(op), std::move(inputs), types);
}

}  // namespace ashlar
