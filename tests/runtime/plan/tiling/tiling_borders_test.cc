// Moved segment boundaries: more options, from which no larger tiling follows.
#include "runtime/plan/tiling/tiling_borders.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "runtime/plan/tiling/tiling_paths.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

// Returns the smallest peak of a path through all cuts.
int64_t SmallestPeak(TilingWays& ways) {
  const size_t last = ways.cuts().size() - 1;
  return PeakOf(TilingPaths(0, last, ways.Between(0, last, ways.images()),
                            std::numeric_limits<double>::infinity())
                    .Smallest());
}

TEST(TilingBordersTest, MovedBordersAddOptionsAndNeverRaiseThePeak) {
  const ArenaModel arena{{}, [](const Graph& graph, const StorageModel&) {
                           return std::vector<int64_t>(graph.nodes().size(), 0);
                         }};
  int moved = 0, smaller = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph = testing::RandomImageGraph(random, /*joins=*/false, 12);
    const std::vector<int> order = testing::NodesInOrder(graph);
    TilingWays ways({graph, order, {}, arena});
    if (ways.cuts().size() < 2) continue;
    const int64_t before = SmallestPeak(ways);
    const size_t options = ways.segments().size();
    const bool any = MoveBorders(ways, TileSpec());
    const int64_t after = SmallestPeak(ways);
    EXPECT_LE(after, before);
    EXPECT_TRUE(any || after == before);
    EXPECT_GE(ways.segments().size(), options);
    moved += any;
    smaller += after < before;
    // Every option lies between two cuts.
    for (const TilingWay& way : ways.All()) {
      EXPECT_LT(way.begin, way.end);
      EXPECT_LT(way.end, ways.cuts().size());
    }
  }
  EXPECT_GT(moved, 1);
  EXPECT_GT(smaller, 0);
}

}  // namespace
}  // namespace ashlar
