// Estimates of strips that compute rows again, and of columns in strips, beside their evaluation.
#include "runtime/plan/tiling/again_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "opr/conv_bias.h"
#include "runtime/plan/tiling/tiling_ways.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::GraphMaker;

// A first convolution, a wide image between narrow ones, and an output of one channel, which strips
// are stored in.
Graph MakeChain(int64_t height, int64_t width) {
  std::mt19937_64 random(1);
  GraphMaker maker;
  int x = maker.Input("x", {1, 3, height, width});
  const auto add = [&](int64_t made, int64_t window, int64_t stride) {
    const int64_t channels = maker.var(x).type.shape[1];
    ConvBiasParam param;
    param.pad_h = param.pad_w = window / 2;
    param.stride_h = param.stride_w = stride;
    const int filter =
        maker.Constant(testing::RandomTensor(random, {made, channels, window, window}));
    const int bias = maker.Constant(testing::RandomTensor(random, {1, made, 1, 1}));
    x = maker.Add<ConvBiasForward>(param, {x, filter, bias}, "conv");
  };
  add(8, 3, 2);
  add(32, 1, 1);
  add(8, 3, 1);
  add(32, 1, 1);
  add(8, 3, 2);
  add(1, 3, 1);
  maker.Output(x);
  return std::move(maker).Build();
}

// Row-major strips are copied to be joined, which takes up to twice the expected bytes.
TEST(AgainTrialsTest, EstimatesAreNearEvaluations) {
  const ArenaModel arena{{}, [](const Graph& graph, const StorageModel&) {
                           return std::vector<int64_t>(graph.nodes().size(), 0);
                         }};
  for (const auto& [height, width] : {std::pair(96, 96), std::pair(64, 120)}) {
    const Graph graph = MakeChain(height, width);
    const std::vector<int> order = testing::NodesInOrder(graph);
    TilingProblem problem{graph, order, {}, arena, 1e9};
    problem.rolling = true;
    TilingWays ways(problem);
    const size_t last = ways.cuts().size() - 1;
    std::set<int64_t> columns;
    std::vector<double> bytes, flops;
    for (const AgainTrial& again : ways.AgainTrialsOf(0, last, 1, /*with_columns=*/true)) {
      const TilingTrial trial = ways.TrialOf(again, 0, last, 1);
      const std::string tiles = TileSpec{{*trial.segment}}.ToString();
      ways.Try({&trial, 1});
      const auto& known = ways.segments().at({0, last, 1});
      const TilingWay& way = known.back();
      ASSERT_EQ(known.size(), bytes.size() + 1) << tiles;
      columns.insert(again.parts);
      bytes.push_back(static_cast<double>(way.bytes) / static_cast<double>(again.bytes));
      flops.push_back((1 + way.extra_flops) / (1 + again.flops));
      EXPECT_GT(bytes.back(), 0.6) << tiles;
      EXPECT_LT(bytes.back(), 2.1) << tiles;
      // Tiles at the borders compute less.
      EXPECT_GT(flops.back(), 0.6) << tiles;
      EXPECT_LT(flops.back(), 1.02) << tiles;
    }
    EXPECT_GT(columns.size(), 4);
    EXPECT_TRUE(columns.contains(1));
    const auto median = [](std::vector<double>& values) {
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
    };
    EXPECT_NEAR(median(bytes), 1, 0.4);
    EXPECT_NEAR(median(flops), 1, 0.15);
  }
}

}  // namespace
}  // namespace ashlar
