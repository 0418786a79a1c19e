// Candidates lie between two cuts, name each kind of tiles, and appear once.
#include "runtime/plan/tiling/tiling_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using Key = std::tuple<size_t, size_t, TileKind, int64_t, int64_t, int64_t>;

Key KeyOf(const TilingTrial& t) { return {t.i, t.j, t.kind, t.count, t.count_width, t.images}; }

class TilingTrialsTest : public ::testing::Test {
 protected:
  TilingTrialsTest() : graph_(testing::RandomImageGraph(random_, /*joins=*/false)) {
    cuts_ = FindCuts(graph_, testing::NodesInOrder(graph_));
  }

  void ExpectOnceEach(const std::vector<TilingTrial>& trials, const std::set<TileKind>& kinds) {
    std::set<Key> keys;
    std::set<TileKind> seen;
    for (const TilingTrial& trial : trials) {
      EXPECT_LT(trial.i, trial.j);
      EXPECT_LT(trial.j, cuts_.size());
      EXPECT_TRUE(keys.insert(KeyOf(trial)).second) << trial.i << " to " << trial.j;
      seen.insert(trial.kind);
    }
    EXPECT_EQ(seen, kinds);
  }

  std::mt19937_64 random_{7};
  Graph graph_;
  std::vector<GraphCut> cuts_;
};

TEST_F(TilingTrialsTest, AllKindsBetweenAllCuts) {
  ASSERT_GE(cuts_.size(), 3u);
  const std::set<TileKind> kinds = {TileKind::kLines, TileKind::kRows, TileKind::kGrid};
  std::set<TileKind> with_rolling = kinds;
  with_rolling.insert(TileKind::kRolling);
  ExpectOnceEach(TrialsOfAllKinds(graph_, cuts_, /*images=*/1, /*rolling=*/false), kinds);
  const auto all = TrialsOfAllKinds(graph_, cuts_, /*images=*/2, /*rolling=*/true);
  ExpectOnceEach(all, with_rolling);
  std::set<std::pair<size_t, size_t>> ends;
  for (const TilingTrial& trial : all) ends.insert({trial.i, trial.j});
  EXPECT_EQ(ends.size(), cuts_.size() * (cuts_.size() - 1) / 2);
}

TEST_F(TilingTrialsTest, RefinedTrialsTryOtherNumbersOfTiles) {
  const size_t last = cuts_.size() - 1;
  const TilingTrial first = FirstTrial(graph_, cuts_, 0, last, 1);
  EXPECT_EQ(first.kind, TileKind::kLines);
  EXPECT_LE(first.count, RowsOf(graph_.var(cuts_[0].var).type));
  ExpectOnceEach(RefinedTrials(graph_, cuts_, 0, last, 1, /*rolling=*/true),
                 {TileKind::kLines, TileKind::kRolling, TileKind::kRows, TileKind::kGrid});
}

TEST_F(TilingTrialsTest, BranchesEndAtTheirOutputs) {
  const auto trials = TrialsOfBranches(graph_, cuts_, /*images=*/2);
  ASSERT_FALSE(trials.empty());
  std::set<int> outputs;
  for (const Binding& output : graph_.outputs()) {
    outputs.insert(graph_.node(graph_.var(output.var).producer).id);
  }
  for (const TilingTrial& trial : trials) {
    ASSERT_TRUE(trial.segment.has_value());
    EXPECT_TRUE(outputs.contains(trial.segment->to));
    EXPECT_EQ(trial.segment->from, IdOf(graph_, cuts_[trial.i]));
    EXPECT_GE(trial.count, 2);
  }
}

}  // namespace
}  // namespace ashlar
