#include "serialization/tflite/import/graph.h"

#include <algorithm>
#include <memory>

#include "graph/evaluate.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/host_io.h"
#include "opr/table.h"
#include "serialization/reject.h"

namespace ashlar {

TfliteVar TfliteGraph::AddVar(VarInfo var) {
  vars_.push_back(std::move(var));
  return static_cast<TfliteVar>(vars_.size() - 1);
}

TfliteVar TfliteGraph::AddInput(const std::string& name, TensorType type) {
  return AddVar({std::move(type), name});
}

TfliteVar TfliteGraph::AddConstant(HostTensor value, const std::string& name) {
  TensorType type = {value.dtype(), value.shape(), Format::kDefault, value.quantization()};
  return AddVar({std::move(type), name, std::move(value)});
}

void TfliteGraph::SetName(TfliteVar var, const std::string& name) {
  if (at(var).name.empty()) at(var).name = name;
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
  for (const TfliteVar input : inputs) operands.push_back(*at(input).constant);
  ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> values,
                          EvaluateOperator(op, operands, site.outputs));
  std::vector<TfliteVar> outputs;
  for (HostTensor& value : values) {
    outputs.push_back(AddConstant(std::move(value), at(inputs[0]).name));
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
  Op added = {operator_name_, std::move(op), std::move(inputs), {}};
  for (const TensorType& type : types) {
    added.outputs.push_back(AddVar({type, "", std::nullopt, static_cast<int>(ops_.size())}));
  }
  ops_.push_back(std::move(added));
  return ops_.back().outputs;
}

std::vector<bool> TfliteGraph::NeededOps(
    const std::vector<std::pair<std::string, TfliteVar>>& outputs) const {
  std::vector<bool> needed(ops_.size(), false);
  const auto need = [&](TfliteVar var) {
    if (at(var).op >= 0) needed[static_cast<size_t>(at(var).op)] = true;
  };
  for (const auto& [name, var] : outputs) need(var);
  for (size_t i = ops_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const TfliteVar input : ops_[i].inputs) need(input);
  }
  return needed;
}

absl::StatusOr<Graph> TfliteGraph::Finish(
    const std::vector<std::pair<std::string, TfliteVar>>& outputs) && {
  GraphBuilder builder;
  std::vector<int> built(vars_.size(), -1);  // vars of the graph
  const auto add = [&](OperatorPtr op, const std::string& name) -> absl::StatusOr<int> {
    GraphBuilder::NodeOptions options;
    options.name = name;
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made, builder.Add(std::move(op), {}, options));
    return made[0];
  };
  for (size_t i = 0; i < vars_.size(); ++i) {
    const VarInfo& var = vars_[i];
    if (var.op >= 0 || var.constant) continue;
    InputParam param = {var.type.dtype,
                        {var.type.shape.dims().begin(), var.type.shape.dims().end()}};
    ASHLAR_ASSIGN_OR_RETURN(
        built[i], add(std::make_shared<const Host2DeviceCopy>(std::move(param)), var.name));
  }
  const auto get = [&](TfliteVar index) -> absl::StatusOr<int> {
    VarInfo& var = at(index);
    int& place = built[static_cast<size_t>(index)];
    if (place < 0) {  // a constant: operators come in the order of production
      ASHLAR_ASSIGN_OR_RETURN(
          place,
          add(Operators().MakeConstant(*std::exchange(var.constant, std::nullopt)), var.name));
    }
    return place;
  };
  const std::vector<bool> needed = NeededOps(outputs);
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (!needed[i]) continue;
    const Op& op = ops_[i];
    std::vector<int> inputs;
    for (const TfliteVar input : op.inputs) {
      ASHLAR_ASSIGN_OR_RETURN(inputs.emplace_back(), get(input));
    }
    GraphBuilder::NodeOptions options;
    options.name = op.name;
    for (const TfliteVar output : op.outputs) {
      options.output_names.push_back(at(output).name.empty() ? op.name : at(output).name);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(op.op, std::move(inputs), options));
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      built[static_cast<size_t>(op.outputs[o])] = made[o];
    }
  }
  for (const auto& [name, output] : outputs) {
    ASHLAR_ASSIGN_OR_RETURN(const int var, get(output));
    GraphBuilder::NodeOptions options;
    options.name = absl::StrCat("output:", name);
    options.binding = name;
    ASHLAR_RETURN_IF_ERROR(
        builder.Add(std::make_shared<const OutputCallback>(NoParam{}), {var}, options).status());
  }
  return std::move(builder).Build();
}

}  // namespace ashlar
