#include "serialization/onnx/import/import.h"

#include <algorithm>

#include "graph/evaluate.h"
#include "graph/status.h"

namespace ashlar {

OnnxVar OnnxImport::AddInput(const std::string& name, TensorType type) {
  return AddVar({std::move(type), name}, false);
}

OnnxVar OnnxImport::AddConstant(HostTensor value) {
  TensorType type = {value.dtype(), value.shape(), Format::kDefault, value.quantization()};
  return AddVar({std::move(type), "", std::move(value)}, true);
}

OnnxVar OnnxImport::CopyConstant(OnnxVar constant) {
  const OnnxVar var = AddConstant(*graph_.at(constant).constant);  // shares the bytes
  SetOnnxType(var, onnx_type(constant));
  return var;
}

absl::StatusOr<OnnxVar> OnnxImport::ReshapeConstant(OnnxVar constant, const Shape& shape) {
  const auto key =
      std::make_pair(constant, std::vector<int64_t>(shape.dims().begin(), shape.dims().end()));
  if (const auto it = reshaped_.find(key); it != reshaped_.end()) return it->second;
  ASHLAR_RETURN_IF_ERROR(CountFolded(shape, type(constant).dtype));
  const OnnxVar var = AddConstant(graph_.at(constant).constant->Reshaped(shape));
  SetName(var, name(constant));
  reshaped_.emplace(key, var);
  return var;
}

OnnxVar OnnxImport::AddUnknown(bool foldable) {
  return AddVar({{}, "", std::nullopt, -1, true}, foldable);
}

OnnxVar OnnxImport::AddSequence(std::vector<OnnxVar> elements) {
  const bool foldable = std::all_of(elements.begin(), elements.end(),
                                    [&](OnnxVar element) { return at(element).foldable; });
  const OnnxVar var = AddUnknown(foldable);
  at(var).sequence = std::move(elements);
  return var;
}

void OnnxImport::SetName(OnnxVar var, const std::string& name) {
  if (graph_.at(var).name.empty()) graph_.at(var).name = name;
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
    const RecordedGraph<OnnxVar>::Var& var = graph_.at(inputs[i]);
    if (var.constant) {
      operands.push_back(var.constant->Computed());
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
    const RecordedGraph<OnnxVar>::Var& var = graph_.at(input);
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
  vars_.resize(vars_.size() + types.size());
  return graph_.Add(node_name_, std::move(op), std::move(inputs), types);
}

}  // namespace ashlar
