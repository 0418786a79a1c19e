#include "serialization/onnx/import/import.h"

#include <algorithm>

#include "graph/evaluate.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/host_io.h"
#include "opr/table.h"

namespace ashlar {

OnnxVar OnnxImport::AddInput(const std::string& name, TensorType type) {
  return AddVar({Origin::kInput, std::move(type), name, std::nullopt, 0, false});
}

OnnxVar OnnxImport::AddConstant(HostTensor value) {
  TensorType type = {value.dtype(), value.shape(), Format::kDefault, value.quantization()};
  return AddVar({Origin::kConstant, std::move(type), "", std::move(value), 0, true});
}

OnnxVar OnnxImport::CopyConstant(OnnxVar constant) {
  const OnnxVar var = AddConstant(*at(constant).constant);  // shares the bytes
  SetOnnxType(var, onnx_type(constant));
  return var;
}

absl::StatusOr<OnnxVar> OnnxImport::ReshapeConstant(OnnxVar constant, const Shape& shape) {
  const auto key =
      std::make_pair(constant, std::vector<int64_t>(shape.dims().begin(), shape.dims().end()));
  if (const auto it = reshaped_.find(key); it != reshaped_.end()) return it->second;
  ASHLAR_RETURN_IF_ERROR(CountFolded(shape, type(constant).dtype));
  const OnnxVar var = AddConstant(at(constant).constant->Reshaped(shape));
  SetName(var, name(constant));
  reshaped_.emplace(key, var);
  return var;
}

OnnxVar OnnxImport::AddUnknown(bool foldable) {
  return AddVar({Origin::kUnknown, {}, "", std::nullopt, 0, foldable});
}

OnnxVar OnnxImport::AddSequence(std::vector<OnnxVar> elements) {
  const bool foldable = std::all_of(elements.begin(), elements.end(),
                                    [&](OnnxVar element) { return at(element).foldable; });
  const OnnxVar var = AddVar({Origin::kSequence, {}, "", std::nullopt, 0, foldable});
  at(var).elements = std::move(elements);
  return var;
}

void OnnxImport::SetName(OnnxVar var, const std::string& name) {
  if (at(var).name.empty()) at(var).name = name;
}

bool OnnxImport::depends_on_counts(OnnxVar var) const {
  std::set<OnnxVar> counts, seen;
  for (const auto& [counted, count] : counts_) counts.insert(count.count);
  std::vector<OnnxVar> left = {var};
  while (!left.empty()) {
    const OnnxVar at = left.back();
    left.pop_back();
    if (counts.count(at) != 0 || constant(at) != nullptr || !seen.insert(at).second) continue;
    if (producer(at) == nullptr) return false;
    left.insert(left.end(), operands(at).begin(), operands(at).end());
  }
  return true;
}

absl::Status OnnxImport::CountFolded(const Shape& shape, DType dtype) {
  ASHLAR_RETURN_IF_ERROR(Shape::Make(shape.dims()).status());
  folded_bytes_ += shape.num_elements() * SizeOf(dtype);
  if (folded_bytes_ <= most_folded_bytes_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("constants that are computed while reading take more than ", most_folded_bytes_,
                   " bytes with ", Name(dtype), shape.ToString()));
}

absl::Status OnnxImport::CountCopied(int64_t bytes) {
  folded_bytes_ += bytes;
  if (folded_bytes_ <= most_folded_bytes_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("functions and branches that are read again with every call take more than ",
                   most_folded_bytes_, " bytes"));
}

std::optional<std::vector<HostTensor>> OnnxImport::Operands(
    const Operator& op, const std::vector<OnnxVar>& inputs) const {
  std::vector<HostTensor> operands;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const VarInfo& var = at(inputs[i]);
    if (var.constant) {
      operands.push_back(*var.constant);
    } else if (op.input_use(static_cast<int>(i)) == InputUse::kShape) {
      operands.push_back(HostTensor::ShapeOnly(var.type.dtype, var.type.shape));
    } else {
      return std::nullopt;
    }
  }
  return operands;
}

// Returns the name of the only input that the value can come from, element by element; "" if there
// are several or none.
const std::string& OnnxImport::NameFrom(const std::vector<OnnxVar>& inputs,
                                        const HostTensor& value) const {
  static const std::string* const none = new std::string();
  const std::string* found = none;
  if (!IsFloat(value.dtype())) return *none;
  for (const OnnxVar input : inputs) {
    const VarInfo& var = at(input);
    if (var.name.empty() || !IsFloat(var.type.dtype)) continue;
    if (var.type.shape.num_elements() != value.num_elements()) continue;
    if (!found->empty() && *found != var.name) return *none;
    found = &var.name;
  }
  return *found;
}

absl::StatusOr<std::vector<OnnxVar>> OnnxImport::Fold(const Operator& op,
                                                      const std::vector<OnnxVar>& inputs,
                                                      const std::vector<HostTensor>& operands,
                                                      const Site& site) {
  for (const TensorType& type : site.outputs) {
    ASHLAR_RETURN_IF_ERROR(CountFolded(type.shape, type.dtype));
    folded_operations_ += type.shape.num_elements();
  }
  // The operation count of a node is at most 2^63 - 1; the sum so far is far below that.
  const int64_t operations = op.Computation(site);
  if (operations > most_folded_operations_ - folded_operations_) {
    return absl::InvalidArgumentError(
        absl::StrCat("computing constants while reading takes more than ", most_folded_operations_,
                     " operations"));
  }
  folded_operations_ += operations;
  ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> values,
                          EvaluateOperator(op, operands, site.outputs));
  std::vector<OnnxVar> outputs;
  for (HostTensor& value : values) {
    const std::string name = values.size() == 1 ? NameFrom(inputs, value) : "";
    outputs.push_back(AddConstant(std::move(value)));
    SetName(outputs.back(), name);
  }
  return outputs;
}

absl::StatusOr<std::vector<OnnxVar>> OnnxImport::Add(OperatorPtr op, std::vector<OnnxVar> inputs) {
  std::vector<InputInfo> infos;
  for (const OnnxVar input : inputs) infos.push_back({type(input), constant(input)});
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, op->Infer(infos));
  for (const TensorType& type : types) {
    ASHLAR_RETURN_IF_ERROR(Shape::Make(type.shape.dims()).status());
  }
  if (const auto operands = Operands(*op, inputs))
    return Fold(*op, inputs, *operands, {infos, types});
  Op added = {node_name_, std::move(op), std::move(inputs), {}};
  for (const TensorType& type : types) {
    added.outputs.push_back(
        AddVar({Origin::kOperator, type, "", std::nullopt, static_cast<int>(ops_.size()), false}));
  }
  ops_.push_back(std::move(added));
  return ops_.back().outputs;
}

std::vector<bool> OnnxImport::NeededOps(
    const std::vector<std::pair<std::string, OnnxVar>>& outputs) const {
  std::vector<bool> needed(ops_.size(), false);
  const auto need = [&](OnnxVar var) {
    if (at(var).origin == Origin::kOperator) needed[at(var).op] = true;
  };
  for (const auto& [name, var] : outputs) need(var);
  for (size_t i = ops_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const OnnxVar input : ops_[i].inputs) need(input);
  }
  return needed;
}

absl::StatusOr<Graph> OnnxImport::Finish(
    const std::vector<std::pair<std::string, OnnxVar>>& outputs) && {
  GraphBuilder builder;
  std::vector<int> built(vars_.size(), -1);  // vars of the graph
  for (size_t i = 0; i < vars_.size(); ++i) {
    const VarInfo& var = vars_[i];
    if (var.origin != Origin::kInput) continue;
    InputParam param = {var.type.dtype,
                        {var.type.shape.dims().begin(), var.type.shape.dims().end()}};
    GraphBuilder::NodeOptions options;
    options.name = var.name;
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> made,
        builder.Add(std::make_shared<const Host2DeviceCopy>(std::move(param)), {}, options));
    built[i] = made[0];
  }
  const auto get = [&](OnnxVar index) -> absl::StatusOr<int> {
    VarInfo& var = at(index);
    int& place = built[static_cast<size_t>(index)];
    if (place < 0) {  // a constant: operators come in the order of production
      GraphBuilder::NodeOptions options;
      options.name = var.name;
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> made,
          builder.Add(Operators().MakeConstant(*std::exchange(var.constant, std::nullopt)), {},
                      options));
      place = made[0];
    }
    return place;
  };
  const std::vector<bool> needed = NeededOps(outputs);
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (!needed[i]) continue;
    const Op& op = ops_[i];
    std::vector<int> inputs;
    for (const OnnxVar input : op.inputs) {
      ASHLAR_ASSIGN_OR_RETURN(const int var, get(input));
      inputs.push_back(var);
    }
    GraphBuilder::NodeOptions options;
    options.name = op.name;
    for (const OnnxVar output : op.outputs) {
      const std::string& name = at(output).name;
      options.output_names.push_back(name.empty() ? op.name : name);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(op.op, std::move(inputs), options));
    for (size_t o = 0; o < made.size(); ++o) built[static_cast<size_t>(op.outputs[o])] = made[o];
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
