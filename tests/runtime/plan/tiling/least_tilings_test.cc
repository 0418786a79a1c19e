// The smallest tilings: within their limits, the smallest first, never larger with a higher limit.
#include "runtime/plan/tiling/least_tilings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>

#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "runtime/plan/tiling/exact_tilings.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

// Adds a convolution of four channels to four, with a square window.
int Convolve(testing::GraphMaker& make, std::mt19937_64& random, int x, int side) {
  ConvolutionForward::Param param;
  param.pad_h = param.pad_w = side / 2;
  return make.Add<ConvolutionForward>(
      param, {x, make.Constant(testing::RandomTensor(random, {4, 4, side, side}))});
}

TEST(LeastTilingsTest, HigherLimitsFindNothingLarger) {
  const ArenaModel arena{{}, [](const Graph& graph, const StorageModel&) {
                           return std::vector<int64_t>(graph.nodes().size(), 0);
                         }};
  int found = 0, smaller = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph = testing::RandomImageGraph(random, /*joins=*/seed % 2 == 1, 12);
    const std::vector<int> order = testing::NodesInOrder(graph);
    const TilingProblem problem{graph, order, {}, arena};
    LeastTilings search(problem);
    int64_t before = kAny;
    for (const double limit : {0.0, 0.3, std::numeric_limits<double>::infinity()}) {
      const std::vector<Tiling> tilings = search.Find(limit, kAny);
      if (tilings.empty()) continue;
      int64_t least = kAny;
      for (const Tiling& tiling : tilings) {
        EXPECT_LE(tiling.extra_flops, limit + 1e-6);
        EXPECT_LE(tiling.live_bytes, tiling.arena_bytes);
        least = std::min(least, tiling.arena_bytes);
      }
      EXPECT_EQ(tilings[0].arena_bytes, least);
      EXPECT_LE(least, before);
      smaller += least < before && before != kAny;
      before = least;
      ++found;
      // The whole tiling needs less only if tensors are in place across a cut.
      const std::vector<Tiling> exact = ExactTilings(problem, {{tilings[0].spec}});
      if (!exact.empty()) {
        EXPECT_LE(exact[0].arena_bytes, tilings[0].live_bytes);
      }
      for (const Tiling& tiling : search.Find(limit, least)) EXPECT_LT(tiling.live_bytes, least);
    }
  }
  EXPECT_GT(found, 12);
  EXPECT_GT(smaller, 0);
}

TEST(LeastTilingsTest, LessWorkEvaluatesFewerTilings) {
  std::mt19937_64 random(1);
  testing::GraphMaker make;
  int image = make.Input("x", {1, 4, 32, 32});
  for (int i = 0; i < 6; ++i) image = Convolve(make, random, image, 3);
  make.Output(image);
  const Graph graph = std::move(make).Build();
  const std::vector<int> order = testing::NodesInOrder(graph);
  std::atomic<int64_t> evaluated = 0;  // operators
  const ArenaModel arena{{}, [&](const Graph& tiled, const StorageModel&) {
                           evaluated += static_cast<int64_t>(tiled.nodes().size());
                           return std::vector<int64_t>(tiled.nodes().size(), 0);
                         }};
  EXPECT_FALSE(LeastTilings({graph, order, {}, arena}, 0.001).Find(0.3, kAny).empty());
  const int64_t little = evaluated.exchange(0);
  EXPECT_FALSE(LeastTilings({graph, order, {}, arena}).Find(0.3, kAny).empty());
  EXPECT_GT(evaluated, 2 * little);
}

TEST(LeastTilingsTest, EstimatesAreNearWhatSegmentsNeed) {
  const ArenaModel arena{{}, [](const Graph& graph, const StorageModel&) {
                           return std::vector<int64_t>(graph.nodes().size(), 0);
                         }};
  int near = 0, all = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    const Graph graph = testing::RandomImageGraph(random, /*joins=*/false, 8);
    const std::vector<int> order = testing::NodesInOrder(graph);
    TilingWays ways({graph, order, {}, arena});
    SegmentEstimates estimates(graph, order, ways.cuts());
    for (size_t j = 1; j < ways.cuts().size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        const std::optional<int64_t> estimate =
            estimates.OfLines(i, j, /*rolling=*/false, /*skips=*/true);
        if (!estimate) continue;
        const int64_t rows = RowsOf(graph.var(ways.cuts()[i].var).type);
        ways.Try({{i, j, TileKind::kLines, rows, 1, 1}});
        const auto segments = ways.segments().find({i, j, 1});
        if (segments == ways.segments().end()) continue;
        const double ratio = static_cast<double>(segments->second[0].bytes) /
                             static_cast<double>(std::max<int64_t>(1, *estimate));
        near += ratio > 0.5 && ratio < 2;
        ++all;
      }
    }
  }
  EXPECT_GT(all, 30);
  EXPECT_GT(near, all * 2 / 3) << "of " << all;
}

// Beside a 3 x 3 window between two of 1 x 1, as in ResNet's blocks, a skip keeps the row by which
// the window is ahead; no window reads it again.
TEST(LeastTilingsTest, EstimatesKnowTheRowsThatSkipsKeep) {
  constexpr int64_t kRow = 4 * 16 * sizeof(float);
  std::mt19937_64 random(1);
  testing::GraphMaker make;
  const auto convolve = [&](int x, int side) { return Convolve(make, random, x, side); };
  const int begin = convolve(make.Input("x", {1, 4, 16, 16}), 1);
  const int sum = make.Add<Elemwise>({ScalarFunction::kAdd},
                                     {begin, convolve(convolve(convolve(begin, 1), 3), 1)});
  make.Output(convolve(sum, 1));
  const Graph graph = std::move(make).Build();
  const std::vector<int> order = testing::NodesInOrder(graph);
  const std::vector<GraphCut> cuts = FindCuts(graph, order);
  SegmentEstimates estimates(graph, order, cuts);
  const size_t last = cuts.size() - 1;
  const auto with = estimates.OfLines(0, last, /*rolling=*/false, /*skips=*/true);
  const auto without = estimates.OfLines(0, last, /*rolling=*/false, /*skips=*/false);
  ASSERT_TRUE(with && without);
  EXPECT_EQ(*with - *without, kRow);
  // The sum reads two rows at once, and makes one; a grid's tile has a part of each.
  const auto rows = estimates.OfTiles(0, last), grid = estimates.OfTiles(0, last, 4);
  ASSERT_TRUE(rows && grid);
  EXPECT_EQ(*rows - *grid, 3 * kRow * 3 / 4);
}

}  // namespace
}  // namespace ashlar
