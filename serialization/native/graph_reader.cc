#include "serialization/native/graph_reader.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/shared_device_tensor.h"
#include "opr/table.h"
#include "serialization/limits.h"
#include "serialization/native/format.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

// The least bytes that a table of this kind takes in a file.
constexpr int64_t kLeastNode = 32, kLeastVar = 16, kLeastParam = 16, kLeastPackedWeight = 16;

absl::string_view View(const flatbuffers::String& text) { return {text.c_str(), text.size()}; }

template <typename T>
size_t Count(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// FlatBuffers' verifier does not check the alignment of elements.
std::vector<int64_t> Integers(const flatbuffers::Vector<int64_t>& vector) {
  std::vector<int64_t> integers(vector.size());
  if (!integers.empty())
    std::memcpy(integers.data(), vector.Data(), sizeof(int64_t) * vector.size());
  return integers;
}

class GraphReader {
 public:
  explicit GraphReader(GraphBytes bytes)
      : unread_bytes_(bytes.graph_bytes),
        weights_(bytes.weights),
        file_(bytes.file),
        owner_(std::move(bytes.owner)) {}

  absl::StatusOr<PackedModel> Read(const fbs::Packed& index) {
    PackedModel packed;
    ASHLAR_RETURN_IF_ERROR(Spend(index.processor()->size() + index.options()->size()));
    packed.processor = index.processor()->str();
    packed.options = index.options()->str();
    packed.extra_flops_ratio = index.extra_flops_ratio();
    if (!std::isfinite(packed.extra_flops_ratio)) {
      return Reject("field extra_flops_ratio is ", packed.extra_flops_ratio);
    }
    for (const flatbuffers::String* kernel : *index.kernels()) {
      ASHLAR_RETURN_IF_ERROR(Spend(sizeof(uint32_t) + kernel->size()));
      packed.kernels.push_back(kernel->str());
    }
    for (const fbs::PackedWeight* weight : *index.weights()) {
      ASHLAR_RETURN_IF_ERROR(Spend(kLeastPackedWeight + weight->key()->size()));
      packed.weights.push_back({static_cast<int>(weight->var()), weight->key()->str(),
                                static_cast<int64_t>(weight->offset()),
                                static_cast<int64_t>(weight->bytes())});
    }
    pooled_constants_ = true;
    ASHLAR_ASSIGN_OR_RETURN(packed.graph, Read(*index.model()));
    for (PackedWeight& weight : packed.weights) {
      // An unknown var becomes -1, which the user of the pool refuses.
      const auto var = static_cast<size_t>(weight.var);
      weight.var = var < vars_.size() ? vars_[var] : -1;
    }
    return packed;
  }

  absl::StatusOr<Graph> Read(const fbs::Model& model) {
    absl::StatusOr<CompNode> comp_node = CompNode::Parse(View(*model.comp_node()));
    if (!comp_node.ok()) return Annotate(comp_node.status(), "field comp_node");
    if (model.next_id() < 0 || model.next_id() > kMaxId) {
      return Reject("field next_id is ", model.next_id(), ", expected 0 to ", kMaxId);
    }
    GraphBuilder builder(*comp_node, model.next_id());
    vars_.clear();
    for (size_t i = 0; i < model.nodes()->size(); ++i) {
      const fbs::Node& node = *model.nodes()->Get(i);
      if (absl::Status status = ReadNode(node, builder); !status.ok()) {
        return Annotate(status,
                        absl::StrCat("node ", i, " '", View(*node.name()).substr(0, 200), "' (",
                                     View(*node.type()).substr(0, 64), ", ", node.id(), ")"));
      }
    }
    return std::move(builder).Build();
  }

 private:
  // In FlatBuffers, many tables can refer to one string or vector. A tree, as writers produce it,
  // never decodes to more bytes than the section has. A file that shares data exceeds this limit.
  absl::Status Spend(int64_t bytes) {
    unread_bytes_ -= bytes;
    if (unread_bytes_ >= 0) return absl::OkStatus();
    return Reject("names, parameters and tables add up to more bytes than the graph section has");
  }

  static absl::Status CheckId(int id) {
    if (id >= 0 && id < kMaxId) return absl::OkStatus();
    return Reject("id ", id, ", expected 0 to ", kMaxId - 1);
  }

  absl::StatusOr<ParamList> ReadParams(const fbs::Node& node) {
    ParamList params;
    for (size_t i = 0; i < Count(node.params()); ++i) {
      const fbs::Param& param = *node.params()->Get(i);
      ASHLAR_RETURN_IF_ERROR(Spend(kLeastParam + param.name()->size()));
      ASHLAR_ASSIGN_OR_RETURN(ParamValue value, ReadParam(param));
      params.emplace_back(std::string(param.name()->c_str(), param.name()->size()),
                          std::move(value));
    }
    return params;
  }

  absl::StatusOr<ParamValue> ReadParam(const fbs::Param& param) {
    switch (param.kind()) {
      case fbs::ParamKind::Bool:
        return ParamValue(param.integer() != 0);
      case fbs::ParamKind::Integer:
        return ParamValue(param.integer());
      case fbs::ParamKind::Real:
        return ParamValue(param.real());
      case fbs::ParamKind::Text:
        if (param.text() == nullptr) break;
        ASHLAR_RETURN_IF_ERROR(Spend(param.text()->size()));
        return ParamValue(std::string(param.text()->c_str(), param.text()->size()));
      case fbs::ParamKind::Integers:
        if (param.integers() == nullptr) break;
        ASHLAR_RETURN_IF_ERROR(Spend(param.integers()->size() * sizeof(int64_t)));
        return ParamValue(Integers(*param.integers()));
    }
    return Reject("parameter '", View(*param.name()).substr(0, 64), "' of kind ",
                  static_cast<int>(param.kind()), " has no such value");
  }

  absl::StatusOr<TensorType> ReadType(const fbs::Var& var) {
    ASHLAR_RETURN_IF_ERROR(CheckId(var.id()));
    if (static_cast<int>(var.dtype()) >= kNumDTypes) {
      return Reject("unknown dtype ", static_cast<int>(var.dtype()));
    }
    if (static_cast<int>(var.format()) >= kNumFormats) {
      return Reject("unknown format ", static_cast<int>(var.format()));
    }
    ASHLAR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(Integers(*var.shape())));
    TensorType type = {
        static_cast<DType>(var.dtype()), std::move(shape), static_cast<Format>(var.format()), {}};
    if (IsQuantized(type.dtype) != (var.quantization() != nullptr)) {
      return Reject(type.ToString(), var.quantization() != nullptr ? " with" : " without",
                    " a quantization");
    }
    if (const fbs::Quantization* const quantization = var.quantization()) {
      ASHLAR_RETURN_IF_ERROR(Spend(sizeof(float) * quantization->scales()->size()));
      std::vector<float> scales(quantization->scales()->size());
      if (!scales.empty()) {
        std::memcpy(scales.data(), quantization->scales()->Data(), sizeof(float) * scales.size());
      }
      ASHLAR_ASSIGN_OR_RETURN(type.quantization, Quantization::Make(type.dtype, std::move(scales),
                                                                    quantization->zero_point()));
    }
    if (type.format != Format::kDefault && type.shape.rank() != 4) {
      return Reject("format ", Name(type.format), " for ", type.shape.ToString(),
                    ", expected 4 dimensions");
    }
    return type;
  }

  // Reads a constant, or the first value of a state.
  absl::StatusOr<OperatorPtr> ReadValue(const fbs::Extent& extent, const TensorType& type,
                                        bool state) {
    const uint64_t offset = extent.offset(), bytes = extent.bytes();
    const uint64_t expected = type.shape.num_elements() * SizeOf(type.dtype);
    if (bytes != expected) {
      return Reject("value has ", bytes, " bytes, ", type.ToString(), " needs ", expected);
    }
    if (offset > weights_.size() || bytes > weights_.size() - offset ||
        offset % kWeightAlignment != 0) {
      return Reject("value of ", bytes, " bytes at ", offset,
                    ", expected inside the weights section of ", weights_.size(),
                    " bytes at a multiple of ", kWeightAlignment);
    }
    const uint8_t* const data = weights_.data() + offset;
    if (bytes <= kMostSizesBytes) {
      // Inference reads it soon, or never. A mapped file's pages are only cached here, because the
      // system may map megabytes around them, too.
      const auto count = static_cast<int64_t>(bytes);
      ASHLAR_RETURN_IF_ERROR(file_ == nullptr ? LoadIfMapped(data, count)
                                              : file_->Cache(data, count));
    }
    HostTensor value = HostTensor::Borrow(type.dtype, type.shape, owner_, data);
    if (file_ != nullptr && bytes <= kMostCopied && IsInteger(type.dtype)) {
      // Shapes and indices: planning reads them, too.
      value = HostTensor::Zeros(type.dtype, type.shape);
      ASHLAR_RETURN_IF_ERROR(file_->Read(data, static_cast<int64_t>(bytes), value.mutable_raw()));
    }
    value = value.As(type.dtype, type.quantization);
    return state ? Operators().MakeState(value) : Operators().MakeConstant(value);
  }

  absl::StatusOr<OperatorPtr> ReadOperator(const fbs::Node& node, const TensorType& first_output) {
    OperatorPtr op;
    if (node.value() != nullptr) {
      const bool state = View(*node.type()) == SharedDeviceTensor::kType;
      ASHLAR_ASSIGN_OR_RETURN(op, ReadValue(*node.value(), first_output, state));
      if (View(*node.type()) != op->type() || Count(node.params()) != 0) {
        return Reject("has a value, which only ", op->type(), " has, without parameters");
      }
    } else if (node.pooled()) {
      op = Operators().MakeConstant(HostTensor::ShapeOnly(first_output.dtype, first_output.shape)
                                        .As(first_output.dtype, first_output.quantization));
      if (!pooled_constants_ || View(*node.type()) != op->type() || Count(node.params()) != 0) {
        return Reject("is in a pool, which only ", op->type(),
                      " of a packed section is, without parameters");
      }
    } else {
      ASHLAR_RETURN_IF_ERROR(Spend(node.type()->size()));
      ASHLAR_ASSIGN_OR_RETURN(ParamList params, ReadParams(node));
      ASHLAR_ASSIGN_OR_RETURN(op, Operators().Make(View(*node.type()), params));
    }
    const bool binds = op->role() == Role::kInput || op->role() == Role::kOutput;
    if (binds != (node.binding() != nullptr && node.binding()->size() > 0)) {
      return Reject("field binding is ", binds ? "missing" : "not for this type");
    }
    return op;
  }

  // Returns the recorded types; ids, names and formats go into `options`.
  absl::StatusOr<std::vector<TensorType>> ReadOutputs(const fbs::Node& node,
                                                      GraphBuilder::NodeOptions& options) {
    std::vector<TensorType> types;
    for (size_t i = 0; i < node.outputs()->size(); ++i) {
      const fbs::Var& var = *node.outputs()->Get(i);
      ASHLAR_RETURN_IF_ERROR(
          Spend(kLeastVar + var.name()->size() + sizeof(int64_t) * var.shape()->size()));
      absl::StatusOr<TensorType> type = ReadType(var);
      if (!type.ok()) return Annotate(type.status(), absl::StrCat("output ", i));
      options.output_ids.push_back(var.id());
      options.output_names.push_back(var.name()->str());
      options.output_formats.push_back(type->format);
      types.push_back(*std::move(type));
    }
    if (types.empty()) return Reject("has no outputs");
    return types;
  }

  absl::StatusOr<std::vector<int>> ReadInputs(const fbs::Node& node) {
    std::vector<int> inputs;
    ASHLAR_RETURN_IF_ERROR(Spend(sizeof(uint32_t) * Count(node.inputs())));
    for (size_t i = 0; i < Count(node.inputs()); ++i) {
      const uint32_t input = node.inputs()->Get(i);
      if (input >= vars_.size()) {
        return Reject("input ", i, " is var ", input, ", but only ", vars_.size(),
                      " are made before it");
      }
      if (vars_[input] == kWorkspace) return Reject("input ", i, " is a workspace");
      inputs.push_back(vars_[input]);
    }
    return inputs;
  }

  absl::Status ReadNode(const fbs::Node& node, GraphBuilder& builder) {
    GraphBuilder::NodeOptions options;
    ASHLAR_RETURN_IF_ERROR(Spend(kLeastNode + node.name()->size()));
    ASHLAR_RETURN_IF_ERROR(CheckId(node.id()));
    if (node.name()->size() == 0) return Reject("has no name");
    options.name = node.name()->str();
    options.id = node.id();
    options.priority = node.priority();
    if (node.binding() != nullptr) {
      ASHLAR_RETURN_IF_ERROR(Spend(node.binding()->size()));
      options.binding = node.binding()->str();
    }

    ASHLAR_ASSIGN_OR_RETURN(std::vector<TensorType> types, ReadOutputs(node, options));
    ASHLAR_ASSIGN_OR_RETURN(std::vector<int> inputs, ReadInputs(node));
    ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op, ReadOperator(node, types[0]));
    // A Byte output next to outputs of another dtype is workspace: no operator produces both.
    if (op->role() == Role::kCompute && types[0].dtype != DType::kByte &&
        types.back().dtype == DType::kByte && types.back().shape.rank() == 1) {
      options.recorded_workspace = {options.output_ids.back(), types.back().shape[0]};
      types.pop_back();
      options.output_ids.pop_back();
      options.output_names.pop_back();
      options.output_formats.pop_back();
    }
    const bool workspace = options.recorded_workspace.has_value();
    ASHLAR_ASSIGN_OR_RETURN(std::vector<int> outputs,
                            builder.Add(std::move(op), std::move(inputs), std::move(options)));
    vars_.insert(vars_.end(), outputs.begin(), outputs.end());
    if (workspace) vars_.push_back(kWorkspace);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorType& inferred = builder.graph().var(outputs[i]).type;
      if (inferred == types[i]) continue;
      return Reject("output ", i, " is recorded as ", types[i].ToString(), ", but its inputs make ",
                    inferred.ToString());
    }
    return absl::OkStatus();
  }

  static constexpr int kWorkspace = -1;
  static constexpr uint64_t kMostCopied = 64;  // bytes of a value

  int64_t unread_bytes_;
  std::vector<int> vars_;          // by index in the file: var of the graph, or kWorkspace
  bool pooled_constants_ = false;  // constants may lack values
  absl::Span<const uint8_t> weights_;
  const MappedFile* file_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

absl::StatusOr<Graph> ReadGraph(const fbs::Model& model, GraphBytes bytes) {
  return GraphReader(std::move(bytes)).Read(model);
}

absl::StatusOr<PackedModel> ReadPackedIndex(const fbs::Packed& index, GraphBytes bytes) {
  return GraphReader(std::move(bytes)).Read(index);
}

}  // namespace ashlar
