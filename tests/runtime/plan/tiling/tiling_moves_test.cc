// Steps of local search between tilings: each gives another tiling of the same graph.
#include "runtime/plan/tiling/tiling_moves.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::NodesInOrder;
using testing::RandomImageGraph;
using testing::Value;

constexpr int64_t kAnyBytes = std::numeric_limits<int64_t>::max();
constexpr double kAnyFlops = std::numeric_limits<double>::infinity();

FoundTilings Search(const Graph& graph) {
  const ArenaModel arena{{}, [](const Graph& tiled, const StorageModel&) {
                           return std::vector<int64_t>(tiled.nodes().size(), 0);
                         }};
  const std::vector<int> order = NodesInOrder(graph);
  TilingSearch search({graph, order, {}, arena});
  search.Search();
  return search.found();
}

TEST(TilingMovesTest, EachIsAnotherTilingOfTheGraph) {
  int moves = 0, tiled = 0, merged = 0, split = 0;
  for (int seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph = RandomImageGraph(random, /*joins=*/seed % 2 == 1, 20);
    const FoundTilings found = Search(graph);
    const auto segments = [](const TileSpec& spec) {
      const bool batch = spec.segments.size() == 1 && !spec.segments[0].inner.empty();
      return batch ? spec.segments[0].inner.size() : spec.segments.size();
    };
    for (const Tiling& tiling : found.smallest) {
      std::set<std::string> specs = {tiling.spec.ToString()};
      const std::vector<Tiling> near = TilingsNear(found, tiling, kAnyBytes, kAnyFlops);
      for (size_t i = 0; i < near.size() && i < 12; ++i) {
        const TileSpec& spec = near[i].spec;
        EXPECT_TRUE(specs.insert(spec.ToString()).second) << spec.ToString() << " twice";
        ++moves;
        tiled += spec.empty() || Tile(graph, spec, NodesInOrder(graph), Operators()).ok();
        merged += segments(spec) < segments(tiling.spec);
        split += segments(spec) > segments(tiling.spec);
        EXPECT_LE(near[i].extra_flops, 10);
      }
      if (moves > 400) break;
    }
  }
  EXPECT_GT(moves, 100);
  EXPECT_GT(tiled, moves * 9 / 10) << "some segments are too little for what is behind them";
  EXPECT_GT(merged, 0);
  EXPECT_GT(split, 0);
}

TEST(TilingMovesTest, LimitsAreKept) {
  std::mt19937_64 random(3);
  const Graph graph = RandomImageGraph(random, /*joins=*/false, 20);
  const FoundTilings found = Search(graph);
  ASSERT_FALSE(found.smallest.empty());
  const Tiling& tiling = found.smallest.back();
  const std::vector<Tiling> all = TilingsNear(found, tiling, kAnyBytes, kAnyFlops);
  ASSERT_FALSE(all.empty());
  const int64_t bytes = all[all.size() / 2].arena_bytes;
  for (const Tiling& near : TilingsNear(found, tiling, bytes, kAnyFlops)) {
    EXPECT_LT(near.arena_bytes, bytes);
  }
  for (const Tiling& near : TilingsNear(found, tiling, kAnyBytes, 0)) {
    EXPECT_LE(near.extra_flops, 0);
  }
  EXPECT_TRUE(TilingsNear(found, tiling, 1, kAnyFlops).empty());
  Tiling strange = tiling;
  strange.spec = Value(TileSpec::Parse("0-1:lines77"));
  EXPECT_TRUE(TilingsNear(found, strange, kAnyBytes, kAnyFlops).empty());
}

}  // namespace
}  // namespace ashlar
