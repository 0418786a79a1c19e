#include "tests/serialization/native/raw_model.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "serialization/checksum.h"
#include "serialization/native/model_generated.h"
#include "serialization/native/reader.h"

namespace ashlar::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<fbs::Param> EncodeParam(FlatBufferBuilder& builder, const std::string& name,
                               const ParamValue& value) {
  const auto text = std::get_if<std::string>(&value);
  const auto integers = std::get_if<std::vector<int64_t>>(&value);
  const auto integer = std::get_if<int64_t>(&value);
  const auto real = std::get_if<double>(&value);
  return fbs::CreateParam(
      builder, builder.CreateString(name), static_cast<fbs::ParamKind>(value.index()),
      integer ? *integer : 0, real ? *real : 0,
      text ? builder.CreateString(*text) : Offset<flatbuffers::String>(),
      integers ? builder.CreateVector(*integers) : Offset<flatbuffers::Vector<int64_t>>());
}

Offset<fbs::Node> EncodeNode(FlatBufferBuilder& builder, const RawNode& node) {
  std::vector<Offset<fbs::Param>> params;
  for (const auto& [name, value] : node.params) params.push_back(EncodeParam(builder, name, value));
  std::vector<Offset<fbs::Var>> outputs;
  for (const RawVar& var : node.outputs) {
    outputs.push_back(fbs::CreateVar(
        builder, var.id, builder.CreateString(var.name), static_cast<fbs::DType>(var.dtype),
        static_cast<fbs::Format>(var.format), builder.CreateVector(var.shape)));
  }
  fbs::Extent value;
  if (node.value) value = fbs::Extent(node.value->offset, node.value->bytes);
  return fbs::CreateNode(builder, node.id, builder.CreateString(node.name),
                         builder.CreateString(node.type), builder.CreateVector(params),
                         builder.CreateVector(node.inputs), builder.CreateVector(outputs), 0,
                         builder.CreateString(node.binding), node.value ? &value : nullptr);
}

ParamList InputParams(const std::vector<int64_t>& shape) {
  return {{"dtype", std::string("Float32")}, {"shape", shape}};
}

ParamList ConvBiasParams() {
  const auto text = [](const char* value) { return ParamValue(std::string(value)); };
  return {{"compute_mode", text("DEFAULT")},
          {"format", text("NCHW")},
          {"sparse", text("DENSE")},
          {"mode", text("CROSS_CORRELATION")},
          {"stride_h", int64_t{1}},
          {"stride_w", int64_t{1}},
          {"pad_h", int64_t{0}},
          {"pad_w", int64_t{0}},
          {"dilate_h", int64_t{1}},
          {"dilate_w", int64_t{1}},
          {"nonlineMode", text("RELU")}};
}

}  // namespace

RawModel RawModel::Convolution() {
  RawModel model;
  model.nodes = {
      {0,
       "data",
       "Host2DeviceCopy",
       InputParams({1, 2, 4, 4}),
       {},
       {{1, "data", {1, 2, 4, 4}}},
       "data"},
      {2, "filter", "ImmutableTensor", {}, {}, {{3, "filter", {1, 2, 3, 3}}}, "", {{0, 72}}},
      {4, "bias", "ImmutableTensor", {}, {}, {{5, "bias", {1, 1, 1, 1}}}, "", {{128, 4}}},
      {6,
       "y",
       "ConvBiasForward",
       ConvBiasParams(),
       {0, 1, 2},
       {{7, "y", {1, 1, 2, 2}}, {8, "y:workspace", {0}, static_cast<int>(DType::kByte)}}},
      {9,
       "out",
       "OutputCallback",
       {},
       {3},
       {{10, "out", {0}, static_cast<int>(DType::kByte)}},
       "y"}};
  model.weights = std::string(192, '\1');
  return model;
}

RawModel RawModel::OneOperator(const std::string& type, const ParamList& params,
                               const std::vector<std::vector<int64_t>>& inputs,
                               std::vector<int64_t> output) {
  RawModel model;
  RawNode op = {50, "op", type, params, {}, {{51, "op", std::move(output)}}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int id = static_cast<int>(2 * i);
    const std::string name = absl::StrCat("x", i);
    model.nodes.push_back({id,
                           name,
                           "Host2DeviceCopy",
                           InputParams(inputs[i]),
                           {},
                           {{id + 1, name, inputs[i]}},
                           name});
    op.inputs.push_back(static_cast<uint32_t>(i));
  }
  model.nodes.push_back(op);
  model.nodes.push_back({60,
                         "out",
                         "OutputCallback",
                         {},
                         {static_cast<uint32_t>(inputs.size())},
                         {{61, "out", {0}, static_cast<int>(DType::kByte)}},
                         "y"});
  return model;
}

std::string EncodeGraph(const RawModel& model) {
  FlatBufferBuilder builder;
  std::vector<Offset<fbs::Node>> nodes;
  for (const RawNode& node : model.nodes) nodes.push_back(EncodeNode(builder, node));
  builder.Finish(fbs::CreateModel(builder, builder.CreateString(model.comp_node), model.next_id,
                                  builder.CreateVector(nodes)));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

std::string EncodeFile(const std::string& graph, const std::string& weights) {
  NativeHeader header;
  header.graph_bytes = graph.size();
  const uint64_t end = header.graph_offset + graph.size();
  header.weights_offset =
      (end + kWeightsSectionAlignment - 1) / kWeightsSectionAlignment * kWeightsSectionAlignment;
  header.weights_bytes = weights.size();
  header.file_bytes = header.weights_offset + header.weights_bytes;
  header.graph_checksum = Checksum(graph.data(), graph.size());
  const auto encoded = EncodeHeader(header);
  std::string file(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  file += graph;
  file.resize(header.weights_offset, '\0');
  return file + weights;
}

absl::StatusOr<Graph> ReadFile(const std::string& file) {
  void* block = nullptr;
  if (posix_memalign(&block, kWeightAlignment, file.size()) != 0) std::abort();
  const std::shared_ptr<const void> owner(block, std::free);
  if (!file.empty()) std::memcpy(block, file.data(), file.size());
  return ReadModelFromBytes(absl::MakeConstSpan(static_cast<const uint8_t*>(block), file.size()),
                            owner, "m.ash");
}

}  // namespace ashlar::testing
