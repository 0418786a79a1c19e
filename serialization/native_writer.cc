#include "serialization/native_writer.h"

#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/status.h"
#include "serialization/file_writer.h"
#include "serialization/model_generated.h"
#include "serialization/native_format.h"

namespace ashlar {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

absl::string_view BytesOf(const HostTensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes())};
}

// The weights section: where each constant lies. Equal bytes are stored once.
class WeightPool {
 public:
  fbs::Extent Place(absl::string_view bytes) {
    const auto [entry, is_new] = offsets_.try_emplace(bytes, size_);
    if (is_new) {
      stored_.push_back(bytes);
      size_ += RoundUp(bytes.size(), kWeightAlignment);
    }
    return fbs::Extent(entry->second, bytes.size());
  }
  uint64_t bytes() const { return size_; }

  absl::Status Write(FileWriter& file) const {
    static constexpr char kZeros[kWeightAlignment] = {};
    for (absl::string_view bytes : stored_) {
      ASHLAR_RETURN_IF_ERROR(file.Write(bytes));
      const size_t padding = RoundUp(bytes.size(), kWeightAlignment) - bytes.size();
      ASHLAR_RETURN_IF_ERROR(file.Write(kZeros, padding));
    }
    return absl::OkStatus();
  }

 private:
  absl::flat_hash_map<absl::string_view, uint64_t> offsets_;
  std::vector<absl::string_view> stored_;
  uint64_t size_ = 0;
};

// Fills the field of a Param that its kind names.
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
  return fbs::CreateVar(
      builder, var.id, builder.CreateString(var.name), static_cast<fbs::DType>(var.type.dtype),
      static_cast<fbs::Format>(var.type.format), builder.CreateVector(dims.data(), dims.size()));
}

Offset<fbs::Node> EncodeNode(FlatBufferBuilder& builder, const Graph& graph,
                             const OperatorNode& node, WeightPool& weights) {
  std::vector<Offset<fbs::Param>> params;
  for (const auto& [name, value] : node.op->params()) {
    params.push_back(EncodeParam(builder, name, value));
  }
  std::vector<Offset<fbs::Var>> outputs;
  for (int output : node.outputs) outputs.push_back(EncodeVar(builder, graph.var(output)));
  fbs::Extent value;
  const HostTensor* constant = node.op->constant();
  if (constant != nullptr) value = weights.Place(BytesOf(*constant));
  const absl::string_view type = node.op->type();
  return fbs::CreateNode(
      builder, node.id, builder.CreateString(node.name),
      builder.CreateString(type.data(), type.size()), builder.CreateVector(params),
      builder.CreateVector(std::vector<uint32_t>(node.inputs.begin(), node.inputs.end())),
      builder.CreateVector(outputs), node.priority, builder.CreateString(node.binding),
      constant ? &value : nullptr);
}

// What the file could not give back.
absl::Status CheckWritable(const Graph& graph) {
  for (const Var& var : graph.vars()) {
    if (!(var.comp_node == graph.var(0).comp_node)) {
      return absl::InvalidArgumentError(
          absl::StrCat("var ", var.id, " is on ", var.comp_node.ToString(), ", others on ",
                       graph.var(0).comp_node.ToString(), "; a model file holds one comp node"));
    }
  }
  for (const OperatorNode& node : graph.nodes()) {
    const HostTensor* constant = node.op->constant();
    if (constant != nullptr && !constant->has_data()) {
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

}  // namespace

absl::Status WriteModel(const Graph& graph, const std::string& path) {
  ASHLAR_RETURN_IF_ERROR(Annotate(CheckWritable(graph), path));
  FlatBufferBuilder builder;
  WeightPool weights;
  std::vector<Offset<fbs::Node>> nodes;
  for (const OperatorNode& node : graph.nodes()) {
    nodes.push_back(EncodeNode(builder, graph, node, weights));
  }
  const std::string comp_node =
      (graph.vars().empty() ? CompNode() : graph.var(0).comp_node).ToString();
  builder.Finish(fbs::CreateModel(builder, builder.CreateString(comp_node), graph.next_id(),
                                  builder.CreateVector(nodes)));

  NativeHeader header;
  header.graph_bytes = builder.GetSize();
  const uint64_t graph_end = header.graph_offset + header.graph_bytes;
  header.weights_offset = RoundUp(graph_end, kWeightsSectionAlignment);
  header.weights_bytes = weights.bytes();
  header.file_bytes = header.weights_offset + header.weights_bytes;

  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  const auto encoded = EncodeHeader(header);
  ASHLAR_RETURN_IF_ERROR(file->Write(encoded.data(), encoded.size()));
  ASHLAR_RETURN_IF_ERROR(file->Write(builder.GetBufferPointer(), header.graph_bytes));
  ASHLAR_RETURN_IF_ERROR(file->Write(std::string(header.weights_offset - graph_end, '\0')));
  ASHLAR_RETURN_IF_ERROR(weights.Write(*file));
  return file->Commit();
}

}  // namespace ashlar
