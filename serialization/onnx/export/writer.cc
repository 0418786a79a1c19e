#include "serialization/onnx/export/writer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/passes/pass.h"
#include "graph/state.h"
#include "graph/status.h"
#include "graph/stored_tensor.h"
#include "serialization/file_writer.h"
#include "serialization/onnx/export/model.h"
#include "serialization/onnx/export/model_file.h"
#include "serialization/onnx/export/open_sizes.h"
#include "serialization/onnx/export/operators.h"
#include "serialization/onnx/import/reader.h"
#include "serialization/same_values.h"
#include "serialization/tensor_checksum.h"

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

absl::StatusOr<OnnxModelAndWeights> Convert(const Graph& graph, int operator_set,
                                            const ConstantChecksum& checksum) {
  OnnxModel model(graph, operator_set, checksum);
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

absl::StatusOr<OnnxModelAndWeights> ToOnnx(const Graph& graph, const ConstantChecksum& checksum) {
  // Replaces operators that ONNX lacks by their compositions, if they have one.
  ASHLAR_ASSIGN_OR_RETURN(const Graph composed, Compose(graph, [](const Operator& op) {
                            return FindOnnxFunction(op.type()) != nullptr;
                          }));
  absl::StatusOr<OnnxModelAndWeights> model = Convert(composed, kWidestOnnxSet, checksum);
  if (absl::IsUnimplemented(model.status())) model = Convert(composed, kRichestOnnxSet, checksum);
  return model;
}

int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.constant != nullptr) bytes += node.constant->bytes();
  }
  return bytes;
}

// Checksums of constants. Reads each constant of `graph` once, although the graph is converted at
// many sizes.
class Checksums {
 public:
  Checksums(const Graph& graph, const DoneWith& done_with) : done_with_(done_with) {
    for (const OperatorNode& node : graph.nodes()) {
      if (node.constant == nullptr || !node.constant->has_data()) continue;
      known_[node.constant->source().raw()].push_back({*node.constant, std::nullopt});
    }
  }
  uint64_t operator()(const HostTensor& constant) {
    for (auto& [tensor, checksum] : known_[constant.source().raw()]) {
      if (!ShareBytes(tensor, constant)) continue;
      if (!checksum) checksum = ChecksumOf(constant, done_with_);
      return *checksum;
    }
    return ChecksumOf(constant, done_with_);
  }

 private:
  const DoneWith& done_with_;
  // By address of the source, which the tensors keep alive.
  std::map<const void*, std::vector<std::pair<HostTensor, std::optional<uint64_t>>>> known_;
};

}  // namespace

absl::Status WriteOnnx(const Graph& graph, const std::string& path, const FileAxes& axes,
                       const DoneWith& done_with) {
  const auto too_large = [&](int64_t bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": the model has ", bytes, " bytes; an ONNX file holds at most ", kMaxMessageBytes));
  };
  // Checked before constants are read.
  if (const int64_t bytes = ConstantBytes(graph); bytes > kMaxMessageBytes) return too_large(bytes);
  absl::StatusOr<OnnxModelAndWeights> made = ToOnnx(graph, nullptr);
  if (!made.ok()) return Annotate(made.status(), path);
  onnx::ModelProto& model = made->model;
  Checksums checksums(graph, done_with);
  const auto sizes_alone = [&](const Graph& other) -> absl::StatusOr<onnx::ModelProto> {
    ASHLAR_ASSIGN_OR_RETURN(OnnxModelAndWeights all, ToOnnx(other, [&](const HostTensor& constant) {
                              return checksums(constant);
                            }));
    return std::move(all.model);
  };
  FileAxes all = axes;
  std::shared_ptr<std::string> bytes_to_read;
  const auto read = [&](const InputShapes& shapes) -> absl::StatusOr<Graph> {
    if (ConstantBytes(graph) > kMostReadAgain || !IsCheap(graph)) {
      return absl::ResourceExhaustedError("a large model");
    }
    if (bytes_to_read == nullptr) {
      bytes_to_read = std::make_shared<std::string>();
      const auto append = [&](absl::string_view bytes) {
        bytes_to_read->append(bytes.data(), bytes.size());
        return absl::OkStatus();
      };
      ASHLAR_RETURN_IF_ERROR(OnnxModelFile(*made).Write(append, done_with));
    }
    OnnxReadOptions options;
    options.shapes = shapes;
    return ReadOnnxFromBytes(
        {reinterpret_cast<const uint8_t*>(bytes_to_read->data()), bytes_to_read->size()}, path,
        options, bytes_to_read);
  };
  for (FixedAxis& axis : FixedByWriting(graph, axes, sizes_alone, read)) {
    all.fixed.push_back(std::move(axis));
  }
  bytes_to_read.reset();
  DeclareOpen(graph, all, sizes_alone, model);
  const auto note = [&](const char* key, size_t i, std::string text) {
    onnx::StringStringEntryProto* const entry = model.add_metadata_props();
    entry->set_key(absl::StrCat(key, ".", i));  // keys are unique in ONNX
    entry->set_value(std::move(text));
  };
  for (size_t i = 0; i < all.fixed.size(); ++i) note(kFixedAxisKey, i, ToText(all.fixed[i]));
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const onnx::ValueInfoProto& input = model.graph().input(static_cast<int>(i));
    const auto& dims = input.type().tensor_type().shape().dim();
    if (std::all_of(dims.begin(), dims.end(), [](auto& dim) { return dim.has_dim_value(); })) {
      continue;
    }
    const Shape& shape = graph.var(graph.inputs()[i].var).type.shape;
    note(kInputShapeKey, i, absl::StrCat(absl::StrJoin(shape.dims(), "x"), "\n", input.name()));
  }
  const OnnxModelFile content(*std::move(made));
  if (content.bytes() > kMaxMessageBytes) return too_large(content.bytes());

  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  ASHLAR_RETURN_IF_ERROR(
      content.Write([&](absl::string_view bytes) { return file->Write(bytes); }, done_with));
  return file->Commit();
}

}  // namespace ashlar
