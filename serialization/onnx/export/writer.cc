#include "serialization/onnx/export/writer.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/passes/pass.h"
#include "graph/state.h"
#include "graph/status.h"
#include "serialization/file_writer.h"
#include "serialization/onnx/export/model.h"
#include "serialization/onnx/export/open_sizes.h"
#include "serialization/onnx/export/operators.h"
#include "serialization/onnx/import/reader.h"

namespace ashlar {
namespace {

// Constants of models that are read again to compare their values.
constexpr int64_t kMostReadAgain = int64_t{1} << 28;
constexpr int64_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();

// Returns which vars the outputs need while the model runs. Vars that only give a shape are not
// needed.
std::vector<bool> NeededVars(const Graph& graph) {
  std::vector<bool> needed(graph.vars().size(), false);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    bool used = node->op->role() == Role::kOutput;
    for (int output : node->outputs) used = used || needed[output];
    for (size_t i = 0; used && i < node->inputs.size(); ++i) {
      if (node->op->input_use(static_cast<int>(i)) != InputUse::kHostValue) {
        needed[node->inputs[i]] = true;
      }
    }
  }
  return needed;
}

absl::StatusOr<onnx::ModelProto> Convert(const Graph& graph, int operator_set, Weights weights) {
  OnnxModel model(graph, operator_set, weights);
  const std::vector<bool> needed = NeededVars(graph);
  const std::vector<bool> updates = FindStateUse(graph).updates;
  std::vector<std::string> problems;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    if (updates[n]) {
      problems.push_back(
          absl::StrCat(Describe(node, kLongestUncheckedName), ": ONNX has no state between runs"));
      continue;
    }
    const bool is_needed = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](int output) { return needed[output]; });
    if (node.op->role() != Role::kCompute || !is_needed) continue;
    OnnxEmitter emitter(graph, node, model);
    const OnnxFunction function = FindOnnxFunction(node.op->type());
    absl::StatusOr<OnnxValues> values =
        absl::UnimplementedError("ONNX has nothing for it, or it is not written yet");
    if (function != nullptr) values = function(emitter);
    if (values.ok()) {
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        const TensorType& type = emitter.stored_output_type(static_cast<int>(i));
        model.Bind(node.outputs[i],
                   values->stored ? (*values)[i] : emitter.Stored((*values)[i], type));
      }
    } else {
      problems.push_back(
          absl::StrCat(Describe(node, kLongestUncheckedName), ": ", values.status().message()));
    }
  }
  if (problems.empty()) return std::move(model).Finish();
  return absl::UnimplementedError(absl::StrCat("not written as ONNX: ", problems.size(),
                                               " operators:\n  ", absl::StrJoin(problems, "\n  ")));
}

absl::StatusOr<onnx::ModelProto> ToOnnx(const Graph& graph, Weights weights) {
  // Replaces operators that ONNX lacks by their compositions, if they have one.
  ASHLAR_ASSIGN_OR_RETURN(const Graph composed, Compose(graph, [](const Operator& op) {
                            return FindOnnxFunction(op.type()) != nullptr;
                          }));
  absl::StatusOr<onnx::ModelProto> model = Convert(composed, kWidestOnnxSet, weights);
  if (absl::IsUnimplemented(model.status())) model = Convert(composed, kRichestOnnxSet, weights);
  return model;
}

int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.constant != nullptr) bytes += node.constant->bytes();
  }
  return bytes;
}

// A stream through which protobuf writes to a FileWriter.
class Stream final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit Stream(FileWriter& file) : file_(file) {}
  bool Write(const void* data, int bytes) override {
    status_ = file_.Write(data, static_cast<size_t>(bytes));
    return status_.ok();
  }
  const absl::Status& status() const { return status_; }

 private:
  FileWriter& file_;
  absl::Status status_;
};

}  // namespace

absl::Status WriteOnnx(const Graph& graph, const std::string& path, const FileAxes& axes) {
  const auto too_large = [&](int64_t bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": the model has ", bytes, " bytes; an ONNX file holds at most ", kMaxMessageBytes));
  };
  // Checked before the weights are copied into the message.
  if (const int64_t bytes = ConstantBytes(graph); bytes > kMaxMessageBytes) return too_large(bytes);
  absl::StatusOr<onnx::ModelProto> model = ToOnnx(graph, Weights::kWritten);
  if (!model.ok()) return Annotate(model.status(), path);
  const auto sizes_alone = [](const Graph& other) { return ToOnnx(other, Weights::kChecksums); };
  FileAxes all = axes;
  std::string bytes_to_read;
  const auto read = [&](const InputShapes& shapes) -> absl::StatusOr<Graph> {
    if (ConstantBytes(graph) > kMostReadAgain) return absl::ResourceExhaustedError("a large model");
    if (bytes_to_read.empty()) bytes_to_read = model->SerializeAsString();
    OnnxReadOptions options;
    options.shapes = shapes;
    return ReadOnnxFromBytes(
        {reinterpret_cast<const uint8_t*>(bytes_to_read.data()), bytes_to_read.size()}, path,
        options);
  };
  for (FixedAxis& axis : FixedByWriting(graph, axes, sizes_alone, read)) {
    all.fixed.push_back(std::move(axis));
  }
  DeclareOpen(graph, all, sizes_alone, *model);
  const auto note = [&](const char* key, size_t i, std::string text) {
    onnx::StringStringEntryProto* const entry = model->add_metadata_props();
    entry->set_key(absl::StrCat(key, ".", i));  // keys are unique in ONNX
    entry->set_value(std::move(text));
  };
  for (size_t i = 0; i < all.fixed.size(); ++i) note(kFixedAxisKey, i, ToText(all.fixed[i]));
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const onnx::ValueInfoProto& input = model->graph().input(static_cast<int>(i));
    const auto& dims = input.type().tensor_type().shape().dim();
    if (std::all_of(dims.begin(), dims.end(), [](auto& dim) { return dim.has_dim_value(); })) {
      continue;
    }
    const Shape& shape = graph.var(graph.inputs()[i].var).type.shape;
    note(kInputShapeKey, i, absl::StrCat(absl::StrJoin(shape.dims(), "x"), "\n", input.name()));
  }
  const size_t bytes = model->ByteSizeLong();
  if (bytes > kMaxMessageBytes) return too_large(static_cast<int64_t>(bytes));

  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  Stream stream(*file);
  google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream);
  const bool written = model->SerializeToZeroCopyStream(&adaptor) && adaptor.Flush();
  ASHLAR_RETURN_IF_ERROR(stream.status());
  if (!written) return absl::InternalError(absl::StrCat(path, ": protobuf cannot write the model"));
  return file->Commit();
}

}  // namespace ashlar
