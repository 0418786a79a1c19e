// Options between cuts, compared with the exact peaks of tilings that consist of one of them.
#include "runtime/plan/tiling/tiling_ways.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/plan/tiling/exact_tilings.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

// Calls visit(ways, problem) for chains that can be tiled. Returns their number.
template <typename Visit>
int ForEachChain(double max_extra_flops, const Visit& visit) {
  const ArenaModel arena{{}, [](const Graph& graph, const StorageModel&) {
                           return std::vector<int64_t>(graph.nodes().size(), 0);
                         }};
  int chains = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph = testing::RandomImageGraph(random, /*joins=*/false, 8);
    const std::vector<int> order = testing::NodesInOrder(graph);
    const TilingProblem problem{graph, order, {}, arena, max_extra_flops};
    TilingWays ways(problem);
    if (ways.cuts().size() < 3) continue;
    ways.Try(TrialsOfAllKinds(graph, ways.cuts(), ways.images(), /*rolling=*/true));
    visit(ways, problem);
    ++chains;
  }
  return chains;
}

TEST(TilingWaysTest, OneSegmentAndTheRestNeedWhatTheWholeTilingNeeds) {
  int equal = 0, above = 0;
  const auto visit = [&](TilingWays& ways, const TilingProblem& problem) {
    for (const auto& [ends, segments] : ways.segments()) {
      if (std::get<2>(ends) != ways.images()) continue;
      for (const TilingWay& way : segments) {
        const auto exact = ExactTilings(problem, {{TileSpec{{*way.segment}}}});
        if (exact.empty()) continue;
        const TilingWay* const alone[] = {&way};
        const int64_t estimate = std::max(way.bytes, ways.LargestOutside(alone));
        // A cut's tensor may be in place of the tensor before it only if both sides are one graph.
        EXPECT_LE(exact[0].arena_bytes, estimate) << exact[0].spec.ToString();
        (exact[0].arena_bytes == estimate ? equal : above) += 1;
        EXPECT_NEAR(exact[0].extra_flops, way.extra_flops, 1e-9) << exact[0].spec.ToString();
      }
    }
  };
  EXPECT_GT(ForEachChain(1e9, visit), 4);
  EXPECT_GT(equal, 3 * above) << above;
}

TEST(TilingWaysTest, AnOptionThatRecomputesMoreThanTheLimitIsLeftOut) {
  int64_t all = 0, within = 0;
  ForEachChain(1e9, [&](TilingWays& ways, const TilingProblem&) { all += ways.All().size(); });
  ForEachChain(0.01, [&](TilingWays& ways, const TilingProblem&) {
    for (const TilingWay& way : ways.All()) EXPECT_LE(way.extra_flops, 0.01);
    within += ways.All().size();
  });
  EXPECT_GT(within, 0);
  EXPECT_LT(within, all);
}

TEST(TilingWaysTest, EndsAreRefinedOnce) {
  ForEachChain(1e9, [&](TilingWays& ways, const TilingProblem&) {
    const TilingWays::Ends ends = {0, ways.cuts().size() - 1, ways.images()};
    EXPECT_FALSE(ways.Refinements(ends).empty());
    EXPECT_TRUE(ways.Refinements(ends).empty());
  });
}

}  // namespace
}  // namespace ashlar
