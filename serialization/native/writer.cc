#include "serialization/native/writer.h"

#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "graph/status.h"
#include "graph/stored_tensor.h"
#include "serialization/checksum.h"
#include "serialization/file_writer.h"
#include "serialization/limits.h"
#include "serialization/native/format.h"
#include "serialization/native/model_generated.h"
#include "serialization/tensor_checksum.h"

namespace ashlar {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Returns the padding from `offset` to the next place for a section.
std::string Gap(uint64_t offset) { return std::string(NextSection(offset) - offset, '\0'); }

// The weights section: assigns an offset to each constant. Equal bytes are stored once. Reads
// constants piece by piece, and reports each piece, so that a mapped file need not be in memory.
class WeightPool {
 public:
  explicit WeightPool(const DoneWith& done_with) : done_with_(done_with) {}

  // Sets the constant's checksum.
  fbs::Extent Place(const HostTensor& tensor, uint64_t& checksum) {
    checksum = ChecksumOf(tensor, done_with_);
    const auto bytes = static_cast<uint64_t>(tensor.bytes());
    std::vector<std::pair<HostTensor, uint64_t>>& alike = stored_by_checksum_[{checksum, bytes}];
    for (const auto& [stored, offset] : alike) {
      const bool same = HaveSameBytes(stored, tensor);
      if (done_with_) done_with_(stored.source().raw(), stored.source().bytes());
      if (same) return fbs::Extent(offset, bytes);
    }
    alike.emplace_back(tensor, size_);
    stored_.push_back(tensor);
    size_ += RoundUp(bytes, kWeightAlignment);
    return fbs::Extent(alike.back().second, bytes);
  }
  uint64_t bytes() const { return size_; }

  absl::Status Write(FileWriter& file) const {
    static constexpr char kZeros[kWeightAlignment] = {};
    for (const HostTensor& tensor : stored_) {
      ASHLAR_RETURN_IF_ERROR(ForPieces(tensor, [&](const HostTensor& piece) -> absl::Status {
        ASHLAR_RETURN_IF_ERROR(file.Write(BytesAsText(piece)));
        if (done_with_) done_with_(piece.source().raw(), piece.source().bytes());
        return absl::OkStatus();
      }));
      const auto bytes = static_cast<uint64_t>(tensor.bytes());
      ASHLAR_RETURN_IF_ERROR(file.Write(kZeros, RoundUp(bytes, kWeightAlignment) - bytes));
    }
    return absl::OkStatus();
  }

 private:
  const DoneWith& done_with_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, std::vector<std::pair<HostTensor, uint64_t>>>
      stored_by_checksum_;  // with offsets
  std::vector<HostTensor> stored_;
  uint64_t size_ = 0;
};

// A visitor that sets the field of a Param that its kind names.
struct ParamFields {
  FlatBufferBuilder& builder;
  fbs::ParamKind kind = fbs::ParamKind::Bool;
  int64_t integer = 0;
  double real = 0;
  Offset<flatbuffers::String> text = {};
  Offset<flatbuffers::Vector<int64_t>> integers = {};

  void operator()(bool value) { integer = value; }
  void operator()(int64_t value) {
    kind = fbs::ParamKind::Integer;
    integer = value;
  }
  void operator()(double value) {
    kind = fbs::ParamKind::Real;
    real = value;
  }
  void operator()(const std::string& value) {
    kind = fbs::ParamKind::Text;
    text = builder.CreateString(value);
  }
  void operator()(const std::vector<int64_t>& value) {
    kind = fbs::ParamKind::Integers;
    integers = builder.CreateVector(value);
  }
};

Offset<fbs::Param> EncodeParam(FlatBufferBuilder& builder, const std::string& name,
                               const ParamValue& value) {
  ParamFields fields{builder};
  std::visit(fields, value);
  return fbs::CreateParam(builder, builder.CreateString(name), fields.kind, fields.integer,
                          fields.real, fields.text, fields.integers);
}

Offset<fbs::Var> EncodeVar(FlatBufferBuilder& builder, const Var& var) {
  const absl::Span<const int64_t> dims = var.type.shape.dims();
  const Quantization& quantization = var.type.quantization;
  const absl::Span<const float> scales = quantization.scales();
  Offset<fbs::Quantization> of_integers = {};
  if (!quantization.empty()) {
    of_integers = fbs::CreateQuantization(
        builder, builder.CreateVector(scales.data(), scales.size()), quantization.zero_point());
  }
  return fbs::CreateVar(builder, var.id, builder.CreateString(var.name),
                        static_cast<fbs::DType>(var.type.dtype),
                        static_cast<fbs::Format>(var.type.format),
                        builder.CreateVector(dims.data(), dims.size()), of_integers);
}

// Returns by var its index in the file, which counts recorded workspaces among the outputs.
std::vector<uint32_t> FileIndices(const Graph& graph) {
  std::vector<uint32_t> indices(graph.vars().size());
  uint32_t next = 0;
  for (const OperatorNode& node : graph.nodes()) {
    for (int output : node.outputs) indices[output] = next++;
    next += node.recorded_workspace.has_value();
  }
  return indices;
}

Offset<fbs::Node> EncodeNode(FlatBufferBuilder& builder, const Graph& graph,
                             const OperatorNode& node, absl::Span<const uint32_t> indices,
                             WeightPool& weights) {
  std::vector<Offset<fbs::Param>> params;
  for (const auto& [name, value] : node.op->params()) {
    params.push_back(EncodeParam(builder, name, value));
  }
  std::vector<Offset<fbs::Var>> outputs;
  for (int output : node.outputs) outputs.push_back(EncodeVar(builder, graph.var(output)));
  if (const std::optional<RecordedWorkspace>& workspace = node.recorded_workspace) {
    Var var;
    var.id = workspace->id;
    var.name = node.workspace_name();
    var.type = {DType::kByte, Shape{workspace->bytes}};
    outputs.push_back(EncodeVar(builder, var));
  }
  std::vector<uint32_t> inputs;
  for (int input : node.inputs) inputs.push_back(indices[input]);
  fbs::Extent value;
  const HostTensor* constant = node.constant.get();
  std::vector<HostTensor> first;  // first values of states, which their operators own
  if (node.op->role() == Role::kState) first = node.op->Evaluate({}).value_or(std::move(first));
  if (!first.empty()) constant = &first[0];
  const bool stored = constant != nullptr && constant->has_data();
  uint64_t checksum = 0;
  if (stored) {
    value = weights.Place(*constant, checksum);
  }
  const absl::string_view type = node.op->type();
  return fbs::CreateNode(builder, node.id, builder.CreateString(node.name),
                         builder.CreateString(type.data(), type.size()),
                         builder.CreateVector(params), builder.CreateVector(inputs),
                         builder.CreateVector(outputs), node.priority,
                         builder.CreateString(node.binding), stored ? &value : nullptr,
                         constant != nullptr && !stored, checksum);
}

Offset<fbs::Model> EncodeGraph(FlatBufferBuilder& builder, const Graph& graph, WeightPool& weights,
                               const std::vector<FixedAxis>& fixed = {}) {
  const std::vector<uint32_t> indices = FileIndices(graph);
  std::vector<Offset<fbs::Node>> nodes;
  for (const OperatorNode& node : graph.nodes()) {
    nodes.push_back(EncodeNode(builder, graph, node, indices, weights));
  }
  const std::string comp_node =
      (graph.vars().empty() ? CompNode() : graph.var(0).comp_node).ToString();
  std::vector<Offset<fbs::FixedAxis>> axes;
  for (const FixedAxis& axis : fixed) {
    axes.push_back(fbs::CreateFixedAxis(builder, builder.CreateString(axis.input), axis.axis,
                                        builder.CreateString(axis.node)));
  }
  return fbs::CreateModel(builder, builder.CreateString(comp_node), graph.next_id(),
                          builder.CreateVector(nodes),
                          axes.empty() ? 0 : builder.CreateVector(axes));
}

Offset<fbs::Packed> EncodePacked(FlatBufferBuilder& builder, const PackedModel& packed,
                                 WeightPool& weights) {
  const std::vector<uint32_t> indices = FileIndices(packed.graph);
  std::vector<Offset<fbs::PackedWeight>> parts;
  for (const PackedWeight& weight : packed.weights) {
    parts.push_back(fbs::CreatePackedWeight(
        builder, indices[weight.var], builder.CreateString(weight.key),
        static_cast<uint64_t>(weight.offset), static_cast<uint64_t>(weight.bytes)));
  }
  const auto model = EncodeGraph(builder, packed.graph, weights);
  return fbs::CreatePacked(builder, builder.CreateString(packed.processor),
                           builder.CreateString(packed.options), model,
                           builder.CreateVectorOfStrings(packed.kernels),
                           builder.CreateVector(parts), packed.extra_flops_ratio);
}

// Refuses models that could not be read back.
absl::Status CheckWritable(const Graph& graph, bool pooled) {
  for (const Var& var : graph.vars()) {
    if (!(var.comp_node == graph.var(0).comp_node)) {
      return absl::InvalidArgumentError(
          absl::StrCat("var ", var.id, " is on ", var.comp_node.ToString(), ", others on ",
                       graph.var(0).comp_node.ToString(), "; a model file holds one comp node"));
    }
  }
  for (const OperatorNode& node : graph.nodes()) {
    const HostTensor* constant = node.constant.get();
    if (constant != nullptr && !constant->has_data() && !pooled) {
      return absl::InvalidArgumentError(
          absl::StrCat(node.name.substr(0, 200), " (", node.id, "): a constant without data"));
    }
  }
  if (graph.next_id() > kMaxId) {
    return absl::InvalidArgumentError(
        absl::StrCat("ids up to ", graph.next_id(), ", at most ", kMaxId, " fit"));
  }
  return absl::OkStatus();
}

// Calls `take` for all bytes of the pool, in order.
absl::Status ForPool(const PackedModel& packed,
                     absl::FunctionRef<absl::Status(absl::string_view)> take) {
  int64_t at = 0;
  const auto take_until = [&](int64_t offset) -> absl::Status {
    const std::string gap(static_cast<size_t>(offset - at), '\0');
    at = offset;
    return take(gap);
  };
  const auto take_packed = [&](int64_t offset, const void* data, int64_t bytes) -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(take_until(offset));
    at += bytes;
    return take({static_cast<const char*>(data), static_cast<size_t>(bytes)});
  };
  if (packed.pack != nullptr) {
    ASHLAR_RETURN_IF_ERROR(packed.pack(take_packed));
  } else if (packed.pool != nullptr) {  // null if the graph has no weights
    ASHLAR_RETURN_IF_ERROR(take_packed(0, packed.pool, packed.pool_bytes));
  }
  return take_until(packed.pool_bytes);
}

absl::Status Write(const Graph& graph, const PackedModel* packed, const std::string& path,
                   const std::vector<FixedAxis>& fixed, const DoneWith& done_with) {
  ASHLAR_RETURN_IF_ERROR(Annotate(CheckWritable(graph, /*pooled=*/false), path));
  FlatBufferBuilder builder, index;
  WeightPool weights(done_with);
  builder.Finish(EncodeGraph(builder, graph, weights, fixed));
  if (packed != nullptr) {
    ASHLAR_RETURN_IF_ERROR(Annotate(CheckWritable(packed->graph, /*pooled=*/true), path));
    index.Finish(EncodePacked(index, *packed, weights));
  }

  NativeHeader header;
  header.graph_bytes = builder.GetSize();
  const uint64_t graph_end = header.graph_offset + header.graph_bytes;
  header.weights_offset = NextSection(graph_end);
  header.weights_bytes = weights.bytes();
  header.graph_checksum = Checksum(builder.GetBufferPointer(), header.graph_bytes);
  const uint64_t weights_end = header.weights_offset + header.weights_bytes;
  header.file_bytes = weights_end;
  PackedHeader packed_header;
  std::string packed_front;  // header and index
  uint64_t index_end = 0;
  if (packed != nullptr) {
    header.packed_offset = NextSection(weights_end);
    packed_header.index_bytes = RoundUp(index.GetSize(), kWeightAlignment);
    index_end = header.packed_offset + sizeof(packed_header) + packed_header.index_bytes;
    packed_header.pool_offset = NextSection(index_end);
    packed_header.pool_bytes = static_cast<uint64_t>(packed->pool_bytes);
    header.file_bytes = packed_header.pool_offset + packed_header.pool_bytes;
    packed_front.resize(sizeof(packed_header), '\0');
    packed_front.append(reinterpret_cast<const char*>(index.GetBufferPointer()), index.GetSize());
    packed_front.resize(sizeof(packed_header) + packed_header.index_bytes, '\0');
  }
  const auto set_checksum = [&](uint64_t of_pool) {
    packed_header.pool_checksum = of_pool;
    std::memcpy(packed_front.data(), &packed_header, sizeof(packed_header));
    header.index_checksum = Checksum(packed_front.data(), packed_front.size());
  };
  RunningChecksum checksum;
  const auto sum = [&](absl::string_view bytes) {
    checksum.Add(bytes.data(), bytes.size());
    return absl::OkStatus();
  };

  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  if (packed != nullptr && !file->can_rewrite()) {
    ASHLAR_RETURN_IF_ERROR(ForPool(*packed, sum));
    set_checksum(checksum.Value());
  }
  const auto encoded = EncodeHeader(header);
  ASHLAR_RETURN_IF_ERROR(file->Write(encoded.data(), encoded.size()));
  ASHLAR_RETURN_IF_ERROR(file->Write(builder.GetBufferPointer(), header.graph_bytes));
  ASHLAR_RETURN_IF_ERROR(file->Write(Gap(graph_end)));
  ASHLAR_RETURN_IF_ERROR(weights.Write(*file));
  if (packed != nullptr) {
    ASHLAR_RETURN_IF_ERROR(file->Write(Gap(weights_end)));
    ASHLAR_RETURN_IF_ERROR(file->Write(packed_front));
    ASHLAR_RETURN_IF_ERROR(file->Write(Gap(index_end)));
    ASHLAR_RETURN_IF_ERROR(ForPool(*packed, [&](absl::string_view bytes) {
      sum(bytes).IgnoreError();
      return file->Write(bytes);
    }));
    if (file->can_rewrite()) {
      set_checksum(checksum.Value());
      const auto again = EncodeHeader(header);
      ASHLAR_RETURN_IF_ERROR(file->Rewrite(0, again.data(), again.size()));
      ASHLAR_RETURN_IF_ERROR(file->Rewrite(static_cast<int64_t>(header.packed_offset),
                                           packed_front.data(), packed_front.size()));
    }
  }
  return file->Commit();
}

}  // namespace

absl::Status WriteModel(const Graph& graph, const std::string& path, const FileAxes& axes,
                        const DoneWith& done_with) {
  return Write(graph, nullptr, path, axes.fixed, done_with);
}

absl::Status WriteModel(const Graph& graph, const PackedModel& packed, const std::string& path,
                        const FileAxes& axes, const DoneWith& done_with) {
  return Write(graph, &packed, path, axes.fixed, done_with);
}

}  // namespace ashlar
