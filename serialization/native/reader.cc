#include "serialization/native/reader.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/shared_device_tensor.h"
#include "opr/table.h"
#include "serialization/limits.h"
#include "serialization/native/format.h"
#include "serialization/native/model_generated.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

// The deepest nesting in the schema is: Packed, Model, nodes, Node, outputs, Var, name.
constexpr size_t kMaxDepth = 9;
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
  // `file` holds the bytes; null if the caller does.
  GraphReader(int64_t graph_bytes, absl::Span<const uint8_t> weights, const MappedFile* file,
              std::shared_ptr<const void> owner)
      : unread_bytes_(graph_bytes), weights_(weights), file_(file), owner_(std::move(owner)) {}

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
    if (bytes <= kMostSizesBytes) {
      // Inference reads it soon, or never. The system maps pages around it, too.
      if (file_ != nullptr && ++loaded_ % kLoadedTogether == 0) {
        file_->DropResidentPages(weights_.data(), static_cast<int64_t>(weights_.size()));
      }
      ASHLAR_RETURN_IF_ERROR(LoadIfMapped(weights_.data() + offset, static_cast<int64_t>(bytes)));
    }
    const HostTensor value =
        HostTensor::Borrow(type.dtype, type.shape, owner_, weights_.data() + offset)
            .As(type.dtype, type.quantization);
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
  static constexpr int kLoadedTogether = 16;  // constants whose pages may be resident at once

  int64_t unread_bytes_;
  std::vector<int> vars_;          // by index in the file: var of the graph, or kWorkspace
  bool pooled_constants_ = false;  // constants may lack values
  absl::Span<const uint8_t> weights_;
  const MappedFile* file_;
  int loaded_ = 0;
  std::shared_ptr<const void> owner_;
};

// Returns the root table of a section, or InvalidArgument if it is not a valid FlatBuffer of that
// kind.
template <typename Table>
absl::StatusOr<const Table*> VerifiedRoot(absl::Span<const uint8_t> section,
                                          absl::string_view what) {
  // Each reference to a table takes at least 4 bytes.
  flatbuffers::Verifier verifier(section.data(), section.size(), kMaxDepth,
                                 static_cast<flatbuffers::uoffset_t>(section.size() / 4));
  if (section.size() < sizeof(flatbuffers::uoffset_t) ||
      section.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !verifier.VerifyBuffer<Table>(nullptr)) {
    return Reject("the ", what, " of ", section.size(), " bytes is no valid FlatBuffer of a model");
  }
  return flatbuffers::GetRoot<Table>(section.data());
}

std::vector<FixedAxis> FixedAxesOf(const fbs::Model& model) {
  std::vector<FixedAxis> axes;
  for (size_t i = 0; i < Count(model.fixed_axes()); ++i) {
    const fbs::FixedAxis& axis = *model.fixed_axes()->Get(i);
    axes.push_back({axis.input()->str(), std::max(axis.axis(), 0), axis.node()->str()});
  }
  return axes;
}

// `file` holds the bytes; null if the caller does.
absl::Status LoadSection(const MappedFile* file, absl::Span<const uint8_t> section) {
  return file == nullptr ? absl::OkStatus()
                         : file->Load(section.data(), static_cast<int64_t>(section.size()));
}

absl::StatusOr<Graph> Read(absl::Span<const uint8_t> bytes, const MappedFile* file,
                           std::shared_ptr<const void> owner, NativeHeader* header,
                           std::vector<FixedAxis>* fixed) {
  ASHLAR_RETURN_IF_ERROR(LoadSection(file, bytes.subspan(0, kNativeHeaderBytes)));
  ASHLAR_ASSIGN_OR_RETURN(*header, DecodeHeader(bytes));
  const absl::Span<const uint8_t> section =
      bytes.subspan(header->graph_offset, header->graph_bytes);
  ASHLAR_RETURN_IF_ERROR(LoadSection(file, section));
  ASHLAR_ASSIGN_OR_RETURN(const fbs::Model* const model,
                          VerifiedRoot<fbs::Model>(section, "graph section"));
  GraphReader reader(static_cast<int64_t>(section.size()),
                     bytes.subspan(header->weights_offset, header->weights_bytes), file,
                     std::move(owner));
  absl::StatusOr<Graph> graph = reader.Read(*model);
  if (graph.ok() && fixed != nullptr) *fixed = FixedAxesOf(*model);
  // Checked last: an error inside a damaged section says more.
  if (graph.ok() && header->has_checksums) {
    ASHLAR_RETURN_IF_ERROR(CheckSection("graph section", section, header->graph_checksum));
  }
  return graph;
}

// Checks the constants of a graph whose section has been read, except `unread`, and drops their
// pages.
absl::Status CheckConstants(const fbs::Model& model, absl::Span<const uint8_t> weights,
                            const MappedFile& file,
                            const absl::flat_hash_set<const void*>& unread = {}) {
  absl::flat_hash_set<uint64_t> checked;  // offsets; equal constants share one
  for (const fbs::Node* node : *model.nodes()) {
    const fbs::Extent* const value = node->value();
    if (value == nullptr || !checked.insert(value->offset()).second) continue;
    const absl::Span<const uint8_t> bytes = weights.subspan(value->offset(), value->bytes());
    if (unread.contains(bytes.data())) continue;
    ASHLAR_RETURN_IF_ERROR(CheckMappedSection(
        absl::StrCat("value of '", View(*node->name()).substr(0, kLongestUncheckedName), "'"),
        bytes, node->checksum(), file));
  }
  return absl::OkStatus();
}

absl::Span<const uint8_t> PackedFront(absl::Span<const uint8_t> bytes, const NativeHeader& header,
                                      const PackedHeader& packed) {
  return bytes.subspan(header.packed_offset, sizeof(packed) + packed.index_bytes);
}

absl::StatusOr<std::optional<PackedModel>> ReadPacked(absl::Span<const uint8_t> bytes,
                                                      const MappedFile* file,
                                                      std::shared_ptr<const void> owner) {
  ASHLAR_ASSIGN_OR_RETURN(const NativeHeader header, DecodeHeader(bytes));
  if (header.packed_offset == 0) return std::optional<PackedModel>();
  ASHLAR_RETURN_IF_ERROR(
      LoadSection(file, bytes.subspan(header.packed_offset, sizeof(PackedHeader))));
  ASHLAR_ASSIGN_OR_RETURN(const PackedHeader packed_header, DecodePackedHeader(bytes, header));
  const absl::Span<const uint8_t> front = PackedFront(bytes, header, packed_header);
  ASHLAR_RETURN_IF_ERROR(LoadSection(file, front));
  const absl::Span<const uint8_t> index = front.subspan(sizeof(packed_header));
  ASHLAR_ASSIGN_OR_RETURN(const fbs::Packed* const root,
                          VerifiedRoot<fbs::Packed>(index, "packed section's index"));
  GraphReader reader(static_cast<int64_t>(index.size()),
                     bytes.subspan(header.weights_offset, header.weights_bytes), file, owner);
  absl::StatusOr<PackedModel> packed = reader.Read(*root);
  if (!packed.ok()) return Annotate(packed.status(), "packed section");
  if (header.has_checksums) {
    ASHLAR_RETURN_IF_ERROR(CheckSection("packed section's index", front, header.index_checksum));
  }
  packed->pool = bytes.data() + packed_header.pool_offset;
  packed->pool_bytes = static_cast<int64_t>(packed_header.pool_bytes);
  packed->owner = std::move(owner);
  return std::optional<PackedModel>(*std::move(packed));
}

// An error of the disk names the file already.
absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::IsDataLoss(status) ? status : Annotate(status, name);
}

template <typename T>
absl::StatusOr<T> Named(absl::string_view name, absl::StatusOr<T> result) {
  if (result.ok() || absl::IsDataLoss(result.status())) return result;
  return Reject(name, ": ", result.status().message());
}

absl::Status CheckAligned(absl::Span<const uint8_t> bytes, absl::string_view name) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kWeightAlignment == 0) return absl::OkStatus();
  return Reject(name, ": the bytes do not start at a multiple of ", kWeightAlignment);
}

}  // namespace

absl::StatusOr<Graph> ReadModel(const std::string& path, ModelFile* file) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> mapping, MappedFile::Open(path));
  return ReadMappedModel(std::move(mapping), path, file);
}

absl::StatusOr<Graph> ReadMappedModel(std::shared_ptr<const MappedFile> mapping,
                                      const std::string& name, ModelFile* file) {
  NativeHeader header;
  std::vector<FixedAxis> fixed;
  absl::StatusOr<Graph> graph =
      Named(name, Read(mapping->bytes(), mapping.get(), mapping, &header, &fixed));
  if (graph.ok() && file != nullptr) {
    *file = {std::move(mapping), static_cast<int64_t>(header.weights_bytes), name,
             std::move(fixed)};
  }
  return graph;
}

absl::StatusOr<Graph> ReadModelFromBytes(absl::Span<const uint8_t> bytes,
                                         std::shared_ptr<const void> owner, absl::string_view name,
                                         std::vector<FixedAxis>* fixed) {
  ASHLAR_RETURN_IF_ERROR(CheckAligned(bytes, name));
  NativeHeader header;
  return Named(name, Read(bytes, nullptr, std::move(owner), &header, fixed));
}

ConstantChecksums RecordedChecksums(const ModelFile& file) {
  ConstantChecksums checksums;
  const absl::Span<const uint8_t> bytes = file.mapping->bytes();
  const absl::StatusOr<NativeHeader> header = DecodeHeader(bytes);
  if (!header.ok() || !header->has_checksums) return checksums;
  const fbs::Model& model = *flatbuffers::GetRoot<fbs::Model>(bytes.data() + header->graph_offset);
  for (const fbs::Node* node : *model.nodes()) {
    const fbs::Extent* const value = node->value();
    if (value == nullptr || value->bytes() == 0) continue;  // no constant begins there
    checksums.emplace(bytes.data() + header->weights_offset + value->offset(), node->checksum());
  }
  return checksums;
}

absl::Status CheckWeights(const ModelFile& file, const absl::flat_hash_set<const void*>& unread) {
  const absl::Span<const uint8_t> bytes = file.mapping->bytes();
  ASHLAR_ASSIGN_OR_RETURN(const NativeHeader header, DecodeHeader(bytes));
  if (!header.has_checksums) return absl::OkStatus();
  return Named(file.name,
               CheckConstants(*flatbuffers::GetRoot<fbs::Model>(bytes.data() + header.graph_offset),
                              bytes.subspan(header.weights_offset, header.weights_bytes),
                              *file.mapping, unread));
}

absl::Status CheckPackedWeights(const ModelFile& file) {
  const absl::Span<const uint8_t> bytes = file.mapping->bytes();
  ASHLAR_ASSIGN_OR_RETURN(const NativeHeader header, DecodeHeader(bytes));
  if (!header.has_checksums || header.packed_offset == 0) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(const PackedHeader packed, DecodePackedHeader(bytes, header));
  const uint8_t* const index = PackedFront(bytes, header, packed).data() + sizeof(packed);
  ASHLAR_RETURN_IF_ERROR(Named(
      file.name,
      CheckConstants(*flatbuffers::GetRoot<fbs::Packed>(index)->model(),
                     bytes.subspan(header.weights_offset, header.weights_bytes), *file.mapping)));
  return Named(file.name, CheckMappedSection("pool of packed weights",
                                             bytes.subspan(packed.pool_offset, packed.pool_bytes),
                                             packed.pool_checksum, *file.mapping));
}

absl::StatusOr<std::optional<PackedModel>> ReadPackedModel(const ModelFile& file) {
  return Named(file.name, ReadPacked(file.mapping->bytes(), file.mapping.get(), file.mapping));
}

absl::StatusOr<std::optional<PackedModel>> ReadPackedModelFromBytes(
    absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner, absl::string_view name) {
  ASHLAR_RETURN_IF_ERROR(CheckAligned(bytes, name));
  return Named(name, ReadPacked(bytes, nullptr, std::move(owner)));
}

}  // namespace ashlar
