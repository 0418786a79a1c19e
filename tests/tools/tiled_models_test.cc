// Tiles every model of the zoo in every kind of tiles.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "tests/runtime/inference.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"
#include "tools/zoo/zoo.h"

namespace ashlar {
namespace {

using testing::CountDifferences;
using testing::Infer;
using testing::Inference;
using testing::RelativeError;
using testing::SameKernels;
using testing::Value;

struct Model {
  const char* name;
  int64_t image;
  bool headless = false;
  bool is_large = false;
};

std::ostream& operator<<(std::ostream& out, const Model& model) { return out << model.name; }

class TiledModelsTest : public ::testing::TestWithParam<Model> {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

// Returns all kinds of tiles, up to the last cut of at least 4 x 4 pixels. Batches extend to the
// end. Grids over the input extend to the last cut of a quarter of its height: outputs there still
// depend on a slice of the input.
std::vector<std::string> AllTiles(const Graph& graph) {
  const Shape& input = graph.var(graph.inputs()[0].var).type.shape;
  const auto id = [&](int var) { return graph.node(graph.var(var).producer).id; };
  std::string quarter, small, end;
  for (const GraphCut& cut : FindCuts(graph, testing::NodesInOrder(graph))) {
    const Shape& shape = graph.var(cut.var).type.shape;
    end = absl::StrCat(id(graph.inputs()[0].var), "-", id(cut.var));
    if (shape.rank() == 4 && shape[2] >= input[2] / 4) quarter = end;
    if (shape.rank() == 4 && shape[2] >= 4) small = end;
  }
  return {end + ":batch2",    small + ":rows3",          small + ":lines5",
          small + ":grid2x3", quarter + ":inputgrid2x2", end + ":batch2(" + small + ":lines16)"};
}

Graph BuildGraph(const Model& model, int64_t batch) {
  for (const ZooModel& each : ZooModels()) {
    if (std::string(model.name) != each.name) continue;
    return Value(each.build({.batch = batch, .image = model.image, .headless = model.headless}));
  }
  return Graph();
}

TEST_P(TiledModelsTest, ComputesTheSameInTheLeastMemory) {
  const Model& model = GetParam();
  if (testing::kSanitized || model.is_large) GTEST_SKIP() << "of the operators of smaller models";
  PlanRequest request;
  request.planning.planner.limits.work = 0;
  const Graph graph = std::move(
      Value(RewriteGraph(BuildGraph(model, 1), request.target, request.planning, {.tiled = true}))
          .graph);
  std::mt19937_64 random(1);
  const HostTensor input =
      testing::RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
  const Inference whole = Infer(graph, request, input);
  request.target.budget = MemoryBudget{};
  const Inference least = Infer(graph, request, input);
  EXPECT_LE(RelativeError(least.outputs[0], whole.outputs[0]), 1e-4);
}

TEST_P(TiledModelsTest, ComputesTheSameInAllTiles) {
  const Model& model = GetParam();
  if (testing::kSanitized && model.is_large) GTEST_SKIP() << "of the operators of smaller models";
  Graph graph = BuildGraph(model, 2);
  PlanRequest request;
  request.planning.planner.limits.work = 0;
  graph = std::move(
      Value(RewriteGraph(std::move(graph), request.target, request.planning, {.tiled = true}))
          .graph);
  std::mt19937_64 random(1);
  const HostTensor input =
      testing::RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
  for (const bool exact : {true, false}) {
    if (testing::kSanitized && !exact) continue;
    request.planning.kernels.exact = exact;
    request.target.tiles = {};
    const Inference whole = Infer(graph, request, input);
    for (const std::string& tiles : AllTiles(graph)) {
      SCOPED_TRACE(absl::StrCat(model.name, exact ? " exact " : " ", tiles));
      request.target.tiles = Value(TileSpec::Parse(tiles));
      const Inference tiled = Infer(graph, request, input);
      EXPECT_LE(RelativeError(tiled.outputs[0], whole.outputs[0]), 1e-4);
      if (exact) {
        EXPECT_TRUE(SameKernels(whole, tiled));
        EXPECT_EQ(CountDifferences(tiled.outputs[0], whole.outputs[0]), 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, TiledModelsTest,
                         ::testing::Values(Model{"resnet18", 64},
                                           Model{"resnet50", 96, false, true},
                                           Model{"vgg19", 32, true, true},
                                           Model{"mobilenet_v2", 64}, Model{"squeezenet", 64},
                                           Model{"inception_v1", 64}, Model{"tiling_chain", 16}),
                         [](const ::testing::TestParamInfo<Model>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace ashlar
