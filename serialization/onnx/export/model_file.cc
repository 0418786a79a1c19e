#include "serialization/onnx/export/model_file.h"

#include <utility>

#include "graph/status.h"
#include "graph/stored_tensor.h"

namespace ashlar {
namespace {

// Returns the beginning of a field of bytes: its number and its length in protobuf's format.
std::string BeginBytes(int field, uint64_t bytes) {
  constexpr int kBytes = 2;  // the wire type
  std::string begin(1, static_cast<char>(field << 3 | kBytes));
  for (; bytes >= 0x80; bytes >>= 7) begin.push_back(static_cast<char>(bytes | 0x80));
  begin.push_back(static_cast<char>(bytes));
  return begin;
}

}  // namespace

// Fields in the order of their numbers, as protobuf writes them.
OnnxModelFile::OnnxModelFile(OnnxModelAndWeights all) {
  onnx::ModelProto& model = all.model;
  onnx::GraphProto graph;
  graph.Swap(model.mutable_graph());
  model.clear_graph();
  google::protobuf::RepeatedPtrField<onnx::TensorProto> initializers;
  initializers.Swap(graph.mutable_initializer());
  onnx::GraphProto front;
  front.mutable_node()->Swap(graph.mutable_node());
  front.set_name(graph.name());
  graph.clear_name();

  std::vector<std::string> tensors;  // without the elements of large ones
  uint64_t graph_bytes = front.ByteSizeLong() + graph.ByteSizeLong();
  for (int i = 0; i < initializers.size(); ++i) {
    std::string tensor = initializers[i].SerializeAsString();
    uint64_t elements = 0;
    if (const auto weights = all.weights.find(i); weights != all.weights.end()) {
      elements = static_cast<uint64_t>(weights->second.bytes());
      tensor += BeginBytes(onnx::TensorProto::kRawDataFieldNumber, elements);
    }
    tensors.push_back(
        BeginBytes(onnx::GraphProto::kInitializerFieldNumber, tensor.size() + elements) + tensor);
    graph_bytes += tensors.back().size() + elements;
  }

  onnx::ModelProto behind;
  behind.mutable_opset_import()->Swap(model.mutable_opset_import());
  behind.mutable_metadata_props()->Swap(model.mutable_metadata_props());
  Add(model.SerializeAsString() + BeginBytes(onnx::ModelProto::kGraphFieldNumber, graph_bytes) +
      front.SerializeAsString());
  for (int i = 0; i < initializers.size(); ++i) {
    Add(std::move(tensors[static_cast<size_t>(i)]));
    if (const auto weights = all.weights.find(i); weights != all.weights.end()) {
      bytes_ += weights->second.bytes();
      weights_.emplace(messages_.size(), std::move(weights->second));
    }
  }
  Add(graph.SerializeAsString() + behind.SerializeAsString());
}

void OnnxModelFile::Add(std::string bytes) {
  bytes_ += static_cast<int64_t>(bytes.size());
  messages_.push_back(std::move(bytes));
}

absl::Status OnnxModelFile::Write(absl::FunctionRef<absl::Status(absl::string_view)> write,
                                  const DoneWith& done_with) const {
  for (size_t i = 0; i < messages_.size(); ++i) {
    if (const auto weights = weights_.find(i); weights != weights_.end()) {
      ASHLAR_RETURN_IF_ERROR(
          ForPieces(weights->second, [&](const HostTensor& piece) -> absl::Status {
            ASHLAR_RETURN_IF_ERROR(write(BytesAsText(piece)));
            if (done_with) done_with(piece.source().raw(), piece.source().bytes());
            return absl::OkStatus();
          }));
    }
    ASHLAR_RETURN_IF_ERROR(write(messages_[i]));
  }
  return absl::OkStatus();
}

}  // namespace ashlar
