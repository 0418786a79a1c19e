// Small models of the external data set in random tiles and in the least memory: the values must be
// the same as untiled.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/rewrite.h"
#include "serialization/onnx/import/reader.h"
#include "tests/support/environment.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

struct Folder {
  const char* path;
  bool long_least;  // the least memory, whose search takes seconds per model, is left to the night
  bool is_long = false;  // all is
};

class TiledOnnxModels : public ::testing::TestWithParam<Folder> {};

std::vector<std::string> ModelsBelow(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool HasImages(const Graph& graph) {
  if (graph.inputs().size() != 1 || graph.outputs().empty()) return false;
  const auto is_image = [&](const Binding& end) {
    return graph.var(end.var).type.shape.rank() == 4;
  };
  return is_image(graph.inputs()[0]) && is_image(graph.outputs().back());
}

// Compares outputs by name: integers exactly, floats up to rounding.
void ExpectSame(const Graph& graph, const InputTensors& inputs, const PlanRequest& request,
                const std::map<std::string, HostTensor>& whole) {
  LoadedModel model(graph, request);
  const std::vector<HostTensor> outputs = model.Run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.graph().outputs()[i].name;
    ASSERT_TRUE(whole.contains(name)) << name;
    if (IsFloat(outputs[i].dtype())) {
      EXPECT_LE(RelativeError(outputs[i], whole.at(name)), 1e-4) << name;
    } else {
      EXPECT_EQ(CountDifferences(outputs[i], whole.at(name)), 0) << name;
    }
  }
}

TEST_P(TiledOnnxModels, GiveTheSameAsWhole) {
  const auto [folder, long_least, is_long] = GetParam();
  if (!HasSharedData(folder)) GTEST_SKIP() << "no ../shared/" << folder;
  if (is_long && !LongTests()) GTEST_SKIP() << kTakesLong;
  cpu::RegisterDevice();
  int tiled = 0;
  for (const std::string& path : ModelsBelow(SharedData(folder))) {
    SCOPED_TRACE(path);
    const absl::StatusOr<Graph> read = ReadOnnx(path);
    if (!read.ok() || !HasImages(*read)) continue;
    PlanRequest request;
    request.planning.kernels.exact = true;
    request.planning.planner.limits.work = 0;
    const Graph graph = std::move(
        Value(RewriteGraph(Graph(*read), request.target, request.planning, {.tiled = true})).graph);
    request.planning.passes = "none";
    std::mt19937_64 random(7);
    const TensorType& type = graph.var(graph.inputs()[0].var).type;
    const InputTensors inputs = {
        {graph.inputs()[0].name, RandomTensor(random, type.dtype, type.shape, 0, 2)}};
    LoadedModel untiled(graph, request);
    const std::vector<HostTensor> outputs = untiled.Run(inputs);
    std::map<std::string, HostTensor> whole;
    for (size_t i = 0; i < outputs.size(); ++i) {
      whole[untiled.graph().outputs()[i].name] = outputs[i];
    }
    for (int i = 0; i < 5; ++i) {
      request.target.tiles = RandomTiles(random, graph);
      SCOPED_TRACE(request.target.tiles.ToString());
      if (!PlanGraph(Graph(graph), request).ok()) continue;  // the tiles do not suit this model
      ExpectSame(graph, inputs, request, whole);
      ++tiled;
    }
    if (kSanitized || (long_least && !LongTests())) continue;
    request.target.tiles = {};
    request.target.budget = MemoryBudget{};  // the least memory
    SCOPED_TRACE("the least memory");
    ExpectSame(graph, inputs, request, whole);
  }
  EXPECT_GT(tiled, 5);
}

INSTANTIATE_TEST_SUITE_P(Data, TiledOnnxModels,
                         ::testing::Values(Folder{"data/tried2", false},
                                           Folder{"data/int8/nodes", true},
                                           Folder{"data/onnx/exports", true, true},
                                           Folder{"data/onnx/light", true, true}),
                         [](const ::testing::TestParamInfo<Folder>& info) {
                           return std::filesystem::path(info.param.path).filename().string();
                         });

}  // namespace
}  // namespace ashlar::testing
