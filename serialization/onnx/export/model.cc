#include "serialization/onnx/export/model.h"

#include <flatbuffers/util.h>

#include <iterator>

#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

constexpr int64_t kMostSmallBytes = 1 << 16;

// The IR version of ONNX 1.8, which introduced operator set 13, or of 1.15, which introduced
// operator set 20.
int IrVersionOf(int operator_set) { return operator_set <= kWidestOnnxSet ? 7 : 9; }

using onnx::TensorProto;

// Indexed by DType.
constexpr TensorProto::DataType kTensorTypes[] = {
    TensorProto::FLOAT,  TensorProto::FLOAT16, TensorProto::BFLOAT16, TensorProto::INT64,
    TensorProto::INT32,  TensorProto::INT8,    TensorProto::UINT8,    TensorProto::UINT8,
    TensorProto::BOOL,   TensorProto::DOUBLE,  TensorProto::UINT8,    TensorProto::INT8,
    TensorProto::INT32,  TensorProto::UINT16,  TensorProto::INT16,    TensorProto::UINT32,
    TensorProto::UINT64,
};
static_assert(std::size(kTensorTypes) == kNumDTypes);

// Protobuf strings are UTF-8, but names from other sources may have any bytes.
std::string ValidUtf8(absl::string_view text) {
  std::string valid;
  const std::string bytes(text);
  for (const char* next = bytes.c_str(); next < bytes.c_str() + bytes.size();) {
    const char* const begin = next;
    if (flatbuffers::FromUTF8(&next) >= 0) {
      valid.append(begin, next);
    } else {
      next = begin + 1;
      absl::StrAppend(&valid, "\\x", absl::Hex(static_cast<uint8_t>(*begin), absl::kZeroPad2));
    }
  }
  return valid;
}

struct AttributeSetter {
  onnx::AttributeProto& attribute;
  void operator()(int64_t value) const {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  void operator()(float value) const {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  void operator()(const char* value) const {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
  }
};

}  // namespace

onnx::TensorProto::DataType OnnxType(DType dtype) {
  return kTensorTypes[static_cast<size_t>(dtype)];
}

OnnxModel::OnnxModel(const Graph& graph, int operator_set, ConstantChecksum checksum)
    : graph_(graph), operator_set_(operator_set), checksum_(std::move(checksum)) {
  model_.set_ir_version(IrVersionOf(operator_set));
  model_.set_producer_name("ashlar");
  model_.add_opset_import()->set_version(operator_set);
  model_.mutable_graph()->set_name("ashlar");
  for (const Binding& input : graph.inputs()) {
    values_[input.var] = Unique(input.name);
    Declare(*model_.mutable_graph()->add_input(), values_[input.var], graph.var(input.var).type);
  }
  for (const Binding& output : graph.outputs()) {
    // An input that is an output under its own name is one value; every other output has a name of
    // its own.
    const auto input = values_.find(output.var);
    const bool is_input = input != values_.end() && input->second == output.name;
    output_names_.push_back(is_input ? input->second : Unique(output.name));
    const Role role = graph.node(graph.var(output.var).producer).op->role();
    if (role == Role::kCompute) reserved_.emplace(output.var, output_names_.back());
  }
}

std::string OnnxModel::Unique(absl::string_view hint) {
  const std::string base = hint.empty() ? "value" : ValidUtf8(hint);
  std::string name = base;
  int& suffix = suffixes_[base];  // last suffix tried, in case many names are equal
  while (!names_.insert(name).second) name = absl::StrCat(base, "_", ++suffix);
  return name;
}

void OnnxModel::Declare(onnx::ValueInfoProto& info, const std::string& name,
                        const TensorType& type) {
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(OnnxType(type.dtype));
  tensor.mutable_shape();  // present even for rank 0
  for (int64_t dim : type.shape.dims()) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

std::string OnnxModel::ValueOf(int var) {
  std::string& value = values_[var];
  const HostTensor* constant = graph_.constant(var);
  if (value.empty() && constant != nullptr) value = AddTensor(graph_.var(var).name, *constant);
  return value;
}

std::string OnnxModel::AddTensor(absl::string_view hint, const HostTensor& tensor) {
  onnx::TensorProto& proto = *model_.mutable_graph()->add_initializer();
  proto.set_name(Unique(hint));
  proto.set_data_type(OnnxType(tensor.dtype()));
  proto.mutable_dims()->Add(tensor.shape().dims().begin(), tensor.shape().dims().end());
  if (tensor.bytes() <= kMostSmallBytes) {
    proto.set_raw_data(tensor.raw(), static_cast<size_t>(tensor.bytes()));
  } else if (checksum_) {
    const uint64_t sum = checksum_(tensor);
    proto.set_raw_data(&sum, sizeof(sum));
  } else {
    weights_.emplace(model_.graph().initializer_size() - 1, tensor);
  }
  return proto.name();
}

std::string OnnxModel::AddInts(absl::string_view hint, const std::vector<int64_t>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return AddTensor(hint, HostTensor::FromValues<int64_t>(DType::kInt64, shape, values));
}

std::string OnnxModel::AddScalar(absl::string_view hint, DType dtype, double value) {
  HostTensor tensor = HostTensor::Zeros(dtype, {});
  tensor.Set(0, value);
  return AddTensor(hint, tensor);
}

std::string OnnxModel::AddNode(absl::string_view hint, const char* op_type,
                               std::vector<std::string> inputs,
                               const std::vector<OnnxAttribute>& attributes) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(op_type);
  node.set_name(Unique(absl::StrCat(hint, "/", op_type)));
  node.add_output(node.name());
  for (std::string& input : inputs) node.add_input(std::move(input));
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeSetter{attribute}, value);
  }
  return node.name();
}

std::string OnnxModel::AddOutput() {
  onnx::NodeProto& node = *model_.mutable_graph()->mutable_node()->rbegin();
  node.add_output(Unique(absl::StrCat(node.name(), "/", node.output_size())));
  return *node.output().rbegin();
}

void OnnxModel::Bind(int var, const std::string& value) {
  auto& nodes = *model_.mutable_graph()->mutable_node();
  // Only a value that the last node has just produced, and that has no other name yet, can be
  // renamed.
  const bool is_new =
      !nodes.empty() && nodes.rbegin()->name() == value && nodes.rbegin()->output(0) == value;
  if (!is_new) {
    const auto bound = bound_.find(value);
    AddNode(graph_.var(var).name, "Identity", {bound == bound_.end() ? value : bound->second});
  }
  const auto reserved = reserved_.find(var);
  const std::string name =
      reserved != reserved_.end() ? reserved->second : Unique(graph_.var(var).name);
  bound_[nodes.rbegin()->output(0)] = name;
  nodes.rbegin()->set_output(0, name);
  values_[var] = name;
  if (reserved == reserved_.end()) {
    Declare(*model_.mutable_graph()->add_value_info(), name, graph_.var(var).type);
  }
}

OnnxModelAndWeights OnnxModel::Finish() && {
  for (size_t i = 0; i < output_names_.size(); ++i) {
    const int var = graph_.outputs()[i].var;
    if (ValueOf(var) != output_names_[i]) {
      AddNode(output_names_[i], "Identity", {ValueOf(var)});
      model_.mutable_graph()->mutable_node()->rbegin()->set_output(0, output_names_[i]);
    }
    Declare(*model_.mutable_graph()->add_output(), output_names_[i], graph_.var(var).type);
  }
  return {std::move(model_), std::move(weights_)};
}

}  // namespace ashlar
