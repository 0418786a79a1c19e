// Costs of tilings are evaluated once, for every search of a graph and of its rewrites.
#include "runtime/plan/tiling/tiling_costs.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "runtime/plan/tiling/tiling_search.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

TEST(TilingCostsTest, EachTilingIsEvaluatedOnce) {
  TilingCosts costs;
  int evaluated = 0;
  const auto of = [&](const char* key, std::optional<TilingCost> cost) {
    return costs.Of(key, [&] {
      ++evaluated;
      return cost;
    });
  };
  EXPECT_EQ(of("a", TilingCost{5, 1, 0})->bytes, 5);
  EXPECT_FALSE(of("b", std::nullopt));
  EXPECT_EQ(evaluated, 2);
  EXPECT_EQ(of("a", TilingCost{6, 1, 0})->bytes, 5);
  EXPECT_FALSE(of("b", TilingCost{7, 1, 0}));
  EXPECT_EQ(evaluated, 2);
}

// A search finds the same tilings with costs that other searches evaluated: of other graphs, and of
// the same graph in other kinds of tiles.
TEST(TilingCostsTest, SharedCostsChangeNoSearch) {
  int found = 0;
  const auto costs = std::make_shared<TilingCosts>();
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph = testing::RandomImageGraph(random, /*joins=*/seed % 2 == 1, 12);
    const std::vector<int> order = testing::NodesInOrder(graph);
    const ArenaModel arena{{}, [](const Graph& some, const StorageModel&) {
                             return std::vector<int64_t>(some.nodes().size(), 0);
                           }};
    const auto smallest = [&](bool rolling, std::shared_ptr<TilingCosts> known) {
      TilingProblem problem{graph, order, {}, arena};
      problem.rolling = rolling;
      problem.costs = std::move(known);
      TilingSearch search(problem);
      search.Search();
      return search.found().smallest;
    };
    smallest(/*rolling=*/true, costs);
    const std::vector<Tiling> alone = smallest(false, std::make_shared<TilingCosts>());
    const std::vector<Tiling> shared = smallest(false, costs);
    ASSERT_EQ(alone.size(), shared.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(alone[i].spec, shared[i].spec);
      EXPECT_EQ(alone[i].arena_bytes, shared[i].arena_bytes);
      EXPECT_EQ(alone[i].ms, shared[i].ms);
    }
    found += static_cast<int>(alone.size());
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace ashlar
