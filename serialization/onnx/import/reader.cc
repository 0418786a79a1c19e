#include "serialization/onnx/import/reader.h"

#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "serialization/fixed_axes.h"
#include "serialization/input_shapes.h"
#include "serialization/onnx/external_data.h"
#include "serialization/onnx/import/graph_reader.h"
#include "serialization/onnx/large_tensors.h"
#include "serialization/onnx/shown.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();  // size of a protobuf message
// Memory used while reading, measured with Float32 and 8-bit models: a fixed part for code and
// tables; and per node of the file, its message and the resulting operators.
constexpr int64_t kReading = 1 << 20, kReadingNode = 4 << 10;

// A stream of pieces of a file, passed on block by block. Drops the pages of blocks that were read,
// so that bytes that are copied into messages are in memory once.
class Blocks final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  // `file` holds the bytes; null if the caller does.
  Blocks(absl::Span<const absl::string_view> pieces, const MappedFile* file)
      : pieces_(pieces), file_(file) {}
  // The error of the disk, if that ended the stream.
  const absl::Status& status() const { return status_; }

  bool Next(const void** data, int* size) override {
    if (file_ != nullptr)
      file_->DropResidentPages(block_.data(), static_cast<int64_t>(block_.size()));
    while (!pieces_.empty() && at_ == pieces_[0].size()) {
      pieces_.remove_prefix(1);
      at_ = 0;
    }
    if (pieces_.empty() || !status_.ok()) return false;
    block_ = pieces_[0].substr(at_, kBlockBytes);
    at_ += block_.size();
    read_ += static_cast<int64_t>(block_.size());
    if (file_ != nullptr) {
      // Lengths that became shorter are no bytes of the file.
      status_ = LoadIfMapped(block_.data(), static_cast<int64_t>(block_.size()));
      if (!status_.ok()) return false;
    }
    *data = block_.data();
    *size = static_cast<int>(block_.size());
    return true;
  }
  void BackUp(int count) override {
    at_ -= static_cast<size_t>(count);
    read_ -= count;
  }
  bool Skip(int count) override {
    const void* data;
    int size = 0;
    while (count > 0 && Next(&data, &size)) {
      const int back = std::max(size - count, 0);
      BackUp(back);
      count -= size - back;
    }
    return count == 0;
  }
  int64_t ByteCount() const override { return read_; }

 private:
  static constexpr size_t kBlockBytes = 1 << 20;
  absl::Span<const absl::string_view> pieces_;  // the first one is read from at_ on
  const MappedFile* const file_;
  absl::string_view block_;
  size_t at_ = 0;
  int64_t read_ = 0;
  absl::Status status_;
};

// Loads the page that is read next, unless it is the last one that was loaded.
LoadBytes PageByPage(const MappedFile* file) {
  if (file == nullptr) return nullptr;
  return [file, loaded = uintptr_t{0}](absl::string_view next) mutable {
    constexpr uintptr_t kPage = 4096;
    const uintptr_t page = reinterpret_cast<uintptr_t>(next.data() + next.size() - 1) / kPage;
    if (page == loaded) return true;
    loaded = page;
    return file->Load(next.data(), static_cast<int64_t>(next.size())).ok();
  };
}

// A model, and the elements of its large tensors, which stay where they are.
struct Parsed {
  onnx::ModelProto model;
  OnnxFileParts parts;
};

// `file` holds the bytes; null if the caller does. `name` is for errors.
absl::StatusOr<Parsed> Parse(absl::Span<const uint8_t> bytes, const MappedFile* file,
                             const std::string& name, const OnnxReadOptions& options = {}) {
  const size_t size = bytes.size();
  if (size > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", size, " bytes; an ONNX file holds at most ", kMostBytes,
                     ": weights this large must lie in external data"));
  }
  Parsed parsed;
  parsed.parts = FindLargeTensors({reinterpret_cast<const char*>(bytes.data()), size},
                                  static_cast<size_t>(options.least_in_file), PageByPage(file));
  if (file != nullptr) file->DropResidentPages();
  Blocks blocks(parsed.parts.messages, file);
  const bool is_model = size > 0 && parsed.model.ParseFromZeroCopyStream(&blocks);
  // A read that fails between two fields looks like the end of the file.
  ASHLAR_RETURN_IF_ERROR(blocks.status());
  if (!is_model) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no ONNX model, or a damaged one (", size, " bytes)"));
  }
  if (!parsed.model.has_graph()) return parsed;  // `mutable_graph` would make one
  // An optional input is one that is given.
  for (onnx::ValueInfoProto& input : *parsed.model.mutable_graph()->mutable_input()) {
    if (!input.type().optional_type().elem_type().has_tensor_type()) continue;
    const onnx::TypeProto element = input.type().optional_type().elem_type();
    *input.mutable_type() = element;
  }
  return parsed;
}

// Tells where the elements are that are in no message; `owner` keeps them alive.
void AddApart(const Parsed& parsed, const std::shared_ptr<const void>& owner,
              ExternalData& external) {
  const onnx::GraphProto& graph = parsed.model.graph();
  for (const auto& [index, tensor] : parsed.parts.initializers) {
    external.AddApart(graph.initializer(index), {tensor, owner});
  }
  for (const auto& [at, tensor] : parsed.parts.attributes) {
    external.AddApart(graph.node(at.first).attribute(at.second).t(), {tensor, owner});
  }
}

// Returns the shapes of inputs with open dimensions that Ashlar has written beside them.
InputShapes WrittenShapes(const onnx::ModelProto& model) {
  absl::flat_hash_set<absl::string_view> inputs;
  for (const onnx::ValueInfoProto& input : model.graph().input()) inputs.insert(input.name());
  InputShapes shapes;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (!absl::StartsWith(entry.key(), kInputShapeKey)) continue;
    const std::pair<absl::string_view, absl::string_view> text =
        absl::StrSplit(entry.value(), absl::MaxSplits('\n', 1));
    const absl::StatusOr<Shape> shape = text.first.empty() ? Shape() : ParseShape(text.first);
    if (shape.ok() && inputs.contains(text.second)) shapes[std::string(text.second)] = *shape;
  }
  return shapes;
}

// Refuses other sizes of dimensions that were fixed when the file was written.
absl::Status CheckFixed(const onnx::ModelProto& model, const InputShapes& written,
                        const OnnxReadOptions& options) {
  std::vector<FixedAxis> fixed;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (!absl::StartsWith(entry.key(), kFixedAxisKey)) continue;
    ASHLAR_ASSIGN_OR_RETURN(fixed.emplace_back(), ParseFixedAxis(entry.value()));
  }
  if (fixed.empty()) return absl::OkStatus();
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    std::vector<int64_t> dims;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      dims.push_back(std::max<int64_t>(dim.dim_value(), 0));
    }
    const auto known = written.find(input.name());
    const absl::StatusOr<Shape> shape = known != written.end() ? known->second : Shape::Make(dims);
    if (!shape.ok()) continue;  // the graph's reader says so
    ASHLAR_RETURN_IF_ERROR(CheckFixedAxes(input.name(), *shape, fixed, options.shapes));
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph> ReadParsed(Parsed parsed, const std::shared_ptr<const void>& owner,
                                 const OnnxReadOptions& options, ExternalData& external,
                                 const std::string& name, int64_t* taken) {
  onnx::ModelProto& model = parsed.model;
  const int64_t in_message = kReading + kReadingNode * model.graph().node_size();
  int64_t folded_bytes = 0;
  AddApart(parsed, owner, external);
  const InputShapes written = WrittenShapes(model);
  if (absl::Status fixed = CheckFixed(model, written, options); !fixed.ok()) {
    return Annotate(fixed, name);
  }
  OnnxReadOptions with_shapes = options;
  with_shapes.shapes.insert(written.begin(), written.end());
  absl::StatusOr<Graph> graph = ReadOnnxGraph(model, with_shapes, external, folded_bytes);
  if (!graph.ok()) return Annotate(graph.status(), name);
  if (taken != nullptr) *taken = in_message + folded_bytes;
  return graph;
}

// An unknown dimension is -1.
absl::StatusOr<OnnxTensor> Declared(const onnx::ValueInfoProto& value) {
  OnnxTensor tensor;
  tensor.name = Shown(value.name());
  const onnx::TypeProto::Tensor& type = value.type().tensor_type();
  const absl::StatusOr<DType> computed = ComputedAs(type.elem_type());
  if (!computed.ok()) return Annotate(computed.status(), tensor.name);
  tensor.dtype = DeclaredAs(type.elem_type(), *computed);
  if (!type.has_shape()) return tensor;
  tensor.dims.emplace();
  for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
    tensor.dims->push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
    tensor.symbols.push_back(dim.dim_param());
  }
  return tensor;
}

absl::StatusOr<OnnxSignature> SignatureOf(const onnx::ModelProto& model) {
  absl::flat_hash_set<absl::string_view> weights;
  for (const onnx::TensorProto& weight : model.graph().initializer()) weights.insert(weight.name());
  OnnxSignature signature;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (weights.contains(input.name())) continue;
    ASHLAR_ASSIGN_OR_RETURN(signature.inputs.emplace_back(), Declared(input));
  }
  for (const onnx::ValueInfoProto& output : model.graph().output()) {
    ASHLAR_ASSIGN_OR_RETURN(signature.outputs.emplace_back(), Declared(output));
  }
  return signature;
}

}  // namespace

absl::StatusOr<Graph> ReadOnnx(const std::string& path, const OnnxReadOptions& options,
                               std::vector<std::shared_ptr<const MappedFile>>* files,
                               int64_t* taken) {
  const std::shared_ptr<MappedFiles> mapped =
      options.mapped != nullptr ? options.mapped : std::make_shared<MappedFiles>();
  // No file beside the model has this name.
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                          mapped->Get("/", [&] { return MappedFile::Open(path); }));
  ASHLAR_ASSIGN_OR_RETURN(Parsed parsed, Parse(file->bytes(), file.get(), path, options));
  ExternalData external(path, options.follow_links, {}, mapped);
  absl::StatusOr<Graph> graph = ReadParsed(std::move(parsed), file, options, external, path, taken);
  if (graph.ok() && files != nullptr) {
    *files = external.files();
    files->push_back(file);
  }
  return graph;
}

absl::StatusOr<Graph> ReadOnnxFromBytes(absl::Span<const uint8_t> bytes, const std::string& name,
                                        const OnnxReadOptions& options,
                                        const std::shared_ptr<const void>& owner, int64_t* taken) {
  ASHLAR_ASSIGN_OR_RETURN(Parsed parsed, Parse(bytes, nullptr, name, options));
  ExternalData external("", options.follow_links, options.files);
  return ReadParsed(std::move(parsed), owner, options, external, name, taken);
}

absl::StatusOr<OnnxSignature> ReadOnnxSignature(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  ASHLAR_ASSIGN_OR_RETURN(const Parsed parsed, Parse(file->bytes(), file.get(), path));
  return SignatureOf(parsed.model);
}

absl::StatusOr<OnnxSignature> ReadOnnxSignatureFromBytes(absl::Span<const uint8_t> bytes,
                                                         const std::string& name) {
  ASHLAR_ASSIGN_OR_RETURN(const Parsed parsed, Parse(bytes, nullptr, name));
  return SignatureOf(parsed.model);
}

}  // namespace ashlar
