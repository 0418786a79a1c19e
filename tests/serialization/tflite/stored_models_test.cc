// TensorFlow Lite models with LiteRT's outputs (tests/data/tflite): integers to the bit, floats
// within 1e-5 of the largest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/evaluate.h"
#include "graph/tiling/tile.h"
#include "serialization/npz.h"
#include "serialization/tflite/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr double kTolerance = 1e-5;  // of the largest magnitude

void ExpectLiteRt(const HostTensor& got, const HostTensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  double most = 0, distance = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    most = std::max(most, std::abs(want.At(i)));
    distance = std::max(distance, std::abs(got.At(i) - want.At(i)));
  }
  EXPECT_LE(distance, IsFloat(want.dtype()) ? kTolerance * most : 0);
}

struct StoredModel {
  Graph graph;
  InputTensors inputs;
  std::map<std::string, HostTensor> want;  // outputs
};

StoredModel ReadStored(std::filesystem::path path) {
  const std::string bytes = ReadWholeFile(path);
  StoredModel model;
  model.graph = Value(
      ReadTflite({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, nullptr, "m"));
  for (const auto& [name, value] : Value(ReadNpz(path.replace_extension(".npz")))) {
    if (absl::StartsWith(name, "in_")) model.inputs[name.substr(3)] = value;
    if (absl::StartsWith(name, "out_")) model.want[name.substr(4)] = value;
  }
  return model;
}

TEST(StoredTflite, ModelsGiveTheOutputsOfLiteRt) {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/tflite"))) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().stem());
    ++models;
    const auto [graph, inputs, want] = ReadStored(entry.path());
    const std::vector<HostTensor> on_host =
        Value(EvaluateGraph(graph, {inputs.begin(), inputs.end()}));
    const std::vector<HostTensor> on_cpu = LoadedModel(graph).Run(inputs);
    ASSERT_EQ(graph.outputs().size(), want.size());
    for (size_t o = 0; o < want.size(); ++o) {
      const std::string& name = graph.outputs()[o].name;
      ASSERT_TRUE(want.contains(name)) << name;
      ExpectLiteRt(on_host[o], want.at(name));
      ExpectLiteRt(on_cpu[o], want.at(name));
    }
  }
  EXPECT_GE(models, 104);
}

// Convolution, ResizeBytes, convolution: in 8 bits only, with the same bits in tiles.
TEST(StoredTflite, ImagesOfBytesAreResizedInTiles) {
  const auto [graph, inputs, want] =
      ReadStored(SharedData("data/tflite/resize_bilinear_between.int8.tflite"));
  for (const Var& var : graph.vars()) EXPECT_FALSE(IsFloat(var.type.dtype)) << var.name;
  const auto& nodes = graph.nodes();
  const auto resizes = [](const OperatorNode& node) { return node.op->type() == "ResizeBytes"; };
  const auto resize = std::find_if(nodes.begin(), nodes.end(), resizes);
  ASSERT_NE(resize, nodes.end());
  const int from = graph.var(resize->inputs[0]).producer;
  const int to = graph.readers(resize->outputs[0])[0];
  for (const char* kind : {"rows4", "grid2x3", "lines5", "rolling6"}) {
    SCOPED_TRACE(kind);
    PlanRequest request;
    request.target.tiles = Value(
        TileSpec::Parse(absl::StrCat(graph.node(from).id, "-", graph.node(to).id, ":", kind)));
    LoadedModel tiled(graph, request);
    const auto& made = tiled.graph().nodes();
    EXPECT_GT(std::count_if(made.begin(), made.end(), resizes), 3);
    ExpectLiteRt(tiled.Run(inputs)[0], want.begin()->second);
  }
}

}  // namespace
}  // namespace ashlar::testing
