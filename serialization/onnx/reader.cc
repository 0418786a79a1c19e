#include "serialization/onnx/reader.h"

#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <limits>

#include "graph/status.h"
#include "serialization/onnx/external_data.h"
#include "serialization/onnx/graph_reader.h"

namespace ashlar {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();  // of a protobuf message
// Of what reading takes, as measured with models of floats and of 8 bits: its code and tables, and
// by node of the file the message and what becomes of it.
constexpr int64_t kReading = 1 << 20, kReadingNode = 4 << 10;

// Hands a file over block by block, and lets go of those that were read: weights are in memory once
// while they are copied into the message.
class Blocks final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit Blocks(const MappedFile& file) : file_(file) {}
  bool Next(const void** data, int* size) override {
    file_.DropResidentPages(file_.bytes().data(), static_cast<int64_t>(at_));
    const absl::Span<const uint8_t> block = file_.bytes().subspan(at_, kBlockBytes);
    at_ += block.size();
    *data = block.data();
    *size = static_cast<int>(block.size());
    return !block.empty();
  }
  void BackUp(int count) override { at_ -= static_cast<size_t>(count); }
  bool Skip(int count) override {
    const size_t step = std::min(static_cast<size_t>(count), file_.bytes().size() - at_);
    at_ += step;
    return step == static_cast<size_t>(count);
  }
  int64_t ByteCount() const override { return static_cast<int64_t>(at_); }

 private:
  static constexpr size_t kBlockBytes = 1 << 20;
  const MappedFile& file_;
  size_t at_ = 0;
};

absl::StatusOr<onnx::ModelProto> Parse(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const size_t size = file->bytes().size();
  if (size > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", size, " bytes; an ONNX file holds at most ", kMostBytes,
                     ": weights this large must lie in external data"));
  }
  onnx::ModelProto model;
  Blocks blocks(*file);
  if (size == 0 || !model.ParseFromZeroCopyStream(&blocks)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no ONNX model, or a damaged one (", size, " bytes)"));
  }
  return model;
}

}  // namespace

absl::StatusOr<Graph> ReadOnnx(const std::string& path, const OnnxReadOptions& options,
                               std::vector<std::shared_ptr<const MappedFile>>* files,
                               int64_t* taken) {
  ASHLAR_ASSIGN_OR_RETURN(onnx::ModelProto model, Parse(path));
  const int64_t in_message = kReading + kReadingNode * model.graph().node_size();
  ExternalData external(path, options.follow_links);
  int64_t folded_bytes = 0;
  absl::StatusOr<Graph> graph = ReadOnnxGraph(model, options, external, folded_bytes);
  if (!graph.ok()) return Annotate(graph.status(), path);
  if (files != nullptr) *files = external.files();
  if (taken != nullptr) *taken = in_message + folded_bytes;
  return graph;
}

}  // namespace ashlar
