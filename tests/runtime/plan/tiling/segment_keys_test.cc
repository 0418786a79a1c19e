// Segments have equal keys if their operators are alike, in one graph or in several.
#include "runtime/plan/tiling/segment_keys.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "opr/conv_bias.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::NodesInOrder;

// Convolutions 3 x 3 of an image of 16 x 16 pixels; their weights differ.
Graph MakeChain(const std::vector<int64_t>& channels) {
  std::mt19937_64 random(1);
  testing::GraphMaker maker;
  int x = maker.Input("x", {1, channels[0], 16, 16});
  ConvBiasParam param;
  param.pad_h = param.pad_w = 1;
  for (size_t i = 1; i < channels.size(); ++i) {
    const int filter =
        maker.Constant(testing::RandomTensor(random, {channels[i], channels[i - 1], 3, 3}));
    const int bias = maker.Constant(testing::RandomTensor(random, {1, channels[i], 1, 1}));
    x = maker.Add<ConvBiasForward>(param, {x, filter, bias}, "conv");
  }
  maker.Output(x);
  return std::move(maker).Build();
}

TEST(SegmentKeysTest, EqualOperatorsHaveEqualKeys) {
  // Two convolutions of one size, one behind the other, then another one.
  const Graph graph = MakeChain({3, 8, 8, 8, 4});
  const std::vector<int> order = NodesInOrder(graph);
  const std::vector<GraphCut> cuts = FindCuts(graph, order);
  ASSERT_EQ(cuts.size(), 5);
  TilingCosts costs;
  const SegmentKeys keys(graph, order, costs);
  const auto key = [&](size_t i, size_t j, int64_t strips) {
    TileSegment segment = SegmentBetween(graph, order, cuts[i], cuts[j]);
    segment.kind = TileKind::kLines;
    segment.count = strips;
    return keys.Of(cuts[i], cuts[j], {{segment}});
  };
  EXPECT_EQ(key(1, 2, 4), key(2, 3, 4));
  EXPECT_NE(key(1, 2, 4), key(1, 2, 8)) << "other tiles";
  EXPECT_NE(key(1, 2, 4), key(3, 4, 4)) << "other channels";
  EXPECT_NE(key(0, 1, 4), key(1, 2, 4)) << "the caller's input";
  EXPECT_NE(key(1, 2, 4), key(1, 3, 4)) << "more operators";
  EXPECT_NE(keys.OfAll({}), key(0, 4, 4));
  // Operators that are named in tiles are named by their places.
  const auto again = [&](size_t i, size_t j) {
    TileSegment segment = SegmentBetween(graph, order, cuts[i], cuts[j]);
    segment.kind = TileKind::kRolling;
    segment.count = 4;
    segment.again = {segment.to};
    TileSegment columns = SegmentBetween(graph, order, cuts[i], cuts[j]);
    columns.kind = TileKind::kGrid;
    columns.count_width = 2;
    columns.inner = {segment};
    return keys.Of(cuts[i], cuts[j], {{columns}});
  };
  EXPECT_EQ(again(1, 2), again(2, 3));
  // The same in a graph with other operators before it.
  const Graph longer = MakeChain({3, 5, 8, 8, 8, 4});
  const std::vector<int> its_order = NodesInOrder(longer);
  const std::vector<GraphCut> its_cuts = FindCuts(longer, its_order);
  const SegmentKeys its(longer, its_order, costs);
  TileSegment segment = SegmentBetween(longer, its_order, its_cuts[2], its_cuts[3]);
  segment.kind = TileKind::kLines;
  segment.count = 4;
  EXPECT_EQ(its.Of(its_cuts[2], its_cuts[3], {{segment}}), key(1, 2, 4));
}

}  // namespace
}  // namespace ashlar
