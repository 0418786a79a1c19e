// Plans of candidates: equal for equal candidates, null if there are no such tiles, and never below
// the peak of live bytes.
#include "runtime/plan/tiling/tiled_plans.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/cpu/cpu_device.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::Value;

class TiledPlansTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cpu::RegisterDevice();
    request_.target.processor = Value(Processor::Parse("avx2/32K/512K"));
    std::mt19937_64 random(3);
    rewritten_ = Value(RewriteGraph(testing::RandomImageGraph(random, /*joins=*/false, 16),
                                    request_.target, request_.planning, {.tiled = true}));
    plans_ = Value(TiledPlans::Create(rewritten_, request_));
  }

  PlanRequest request_;
  RewrittenGraph rewritten_;
  std::unique_ptr<TiledPlans> plans_;
};

TEST_F(TiledPlansTest, EqualCandidatesHaveEqualPlans) {
  const std::vector<Tiling>& smallest = plans_->tilings().smallest;
  ASSERT_GT(smallest.size(), 1u);
  const Tiling copy = smallest[1];
  const auto planned =
      Value(plans_->Plan({{&smallest[1], true}, {&smallest[0], true}, {&copy, true}}));
  ASSERT_EQ(planned.size(), 3u);
  ASSERT_NE(planned[0], nullptr);
  ASSERT_NE(planned[2], nullptr);
  EXPECT_EQ(planned[0]->plan.plan.arena, planned[2]->plan.plan.arena);
  EXPECT_EQ(planned[0]->plan.plan.offsets, planned[2]->plan.plan.offsets);
  EXPECT_EQ(planned[0]->tiles, smallest[1].spec);
  EXPECT_EQ(planned[1]->tiles, smallest[0].spec);
  for (const auto& plan : planned) EXPECT_GE(plan->plan.plan.arena, plan->schedule.peak_bytes);
}

// Regression: tiled graphs were kept by the address of their tiling, where another may lie later.
TEST_F(TiledPlansTest, AnotherTilingAtTheSameAddressHasItsOwnPlan) {
  const std::vector<Tiling>& smallest = plans_->tilings().smallest;
  ASSERT_GT(smallest.size(), 1u);
  Tiling tiling = smallest[0];
  const auto first = Value(plans_->Plan({{&tiling, true}}));
  tiling = smallest[1];
  const auto second = Value(plans_->Plan({{&tiling, true}}));
  const auto alone = Value(plans_->Plan({{&smallest[1], true}}));
  ASSERT_NE(alone[0], nullptr);
  EXPECT_EQ(second[0]->graph.nodes().size(), alone[0]->graph.nodes().size());
  EXPECT_EQ(second[0]->plan.plan.arena, alone[0]->plan.plan.arena);
  EXPECT_NE(first[0]->graph.nodes().size(), second[0]->graph.nodes().size());
}

TEST_F(TiledPlansTest, TilesThatTheGraphDoesNotHaveGiveNoPlan) {
  const Tiling none{Value(TileSpec::Parse("7000-8000:lines2")), 0, 0, 0};
  EXPECT_EQ(Value(plans_->Plan({{&none, true}}))[0], nullptr);
}

TEST_F(TiledPlansTest, TheUntiledGraphIsNotBelowItsBound) {
  for (const bool low_workspace : plans_->kinds()) {
    const auto whole = Value(plans_->PlanUntiled(low_workspace));
    EXPECT_TRUE(whole->tiles.empty());
    EXPECT_GE(whole->plan.plan.arena, plans_->untiled_bound());
    EXPECT_EQ(whole->request.planning.kernels.low_workspace, low_workspace);
  }
}

TEST_F(TiledPlansTest, LowWorkspaceIsAloneIfItIsRequested) {
  EXPECT_EQ(plans_->kinds().size(), 2u);
  request_.planning.kernels.low_workspace = true;
  EXPECT_EQ(Value(TiledPlans::Create(rewritten_, request_))->kinds(), std::vector<bool>{true});
}

}  // namespace
}  // namespace ashlar
