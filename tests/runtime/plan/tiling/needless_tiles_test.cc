// Plans within a budget have no tiles that save nothing, and a budget of as many bytes as the
// smallest plan has is met.
#include "runtime/plan/tiling/needless_tiles.h"

#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::Value;

PlanRequest LittleWork() {
  cpu::RegisterDevice();
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  request.planning.planner.limits.work = 20'000;
  return request;
}

PlanRequest BudgetOf(int64_t bytes) {
  PlanRequest request = LittleWork();
  request.target.budget = MemoryBudget{};
  request.target.budget->bytes = bytes;
  return request;
}

class NeedlessTiles : public ::testing::TestWithParam<int> {
 protected:
  Graph AnyGraph() const {
    std::mt19937_64 random(GetParam());
    return testing::RandomImageGraph(random, /*joins=*/GetParam() % 2 == 0, 24);
  }
};

// Expects that no outer segment of the plan can be left out: the plan would exceed `bytes`, or take
// longer.
void ExpectNeeded(const Graph& graph, const PlannedGraph& planned, int64_t bytes) {
  for (size_t i = 0; i < planned.tiles.segments.size(); ++i) {
    PlanRequest request = planned.request;
    request.target.budget.reset();
    request.planning = planned.planning;
    request.target.tiles = planned.tiles;
    request.target.tiles.segments.erase(request.target.tiles.segments.begin() +
                                        static_cast<std::ptrdiff_t>(i));
    if (request.target.tiles.empty()) continue;  // another format of images, perhaps
    const auto without = PlanGraph(Graph(graph), request);
    if (!without.ok()) continue;
    EXPECT_TRUE((*without)->plan.plan.arena > bytes ||
                (*without)->predicted_ms >= planned.predicted_ms)
        << planned.tiles.ToString() << " without segment " << i << ": "
        << (*without)->plan.plan.arena << " of " << bytes << " bytes, " << (*without)->predicted_ms
        << " for " << planned.predicted_ms << " ms";
  }
}

TEST_P(NeedlessTiles, AreInNoPlan) {
  const Graph graph = AnyGraph();
  const auto smallest = Value(PlanGraph(Graph(graph), BudgetOf(0)));
  const int64_t least = smallest->plan.plan.arena;
  ExpectNeeded(graph, *smallest, least);
  // Every budget sees the smallest plan.
  const auto exact = Value(PlanGraph(Graph(graph), BudgetOf(std::max<int64_t>(1, least))));
  EXPECT_LE(exact->plan.plan.arena, std::max<int64_t>(1, least));
  const int64_t more = least + least / 4 + 1;
  const auto wider = Value(PlanGraph(Graph(graph), BudgetOf(more)));
  EXPECT_LE(wider->plan.plan.arena, more);
  ExpectNeeded(graph, *wider, more);
}

INSTANTIATE_TEST_SUITE_P(RandomNets, NeedlessTiles, ::testing::Range(1, 8));

// Regression: a plan had 260 operators in tiles for no byte.
TEST(NeedlessTilesTest, TilesThatSaveNothingAreLeftOut) {
  std::mt19937_64 random(4);
  const Graph graph = testing::RandomImageGraph(random, /*joins=*/false, 16);
  PlanRequest request = LittleWork();
  request.planning.passes = "none";
  const int64_t untiled = Value(PlanGraph(Graph(graph), request))->plan.plan.arena;
  for (int i = 0; i < 20; ++i) {
    request.target.tiles = testing::RandomTiles(random, graph);
    auto tiled = PlanGraph(Graph(graph), request);
    if (!tiled.ok() || (*tiled)->tiles.empty()) continue;
    const double ms = (*tiled)->predicted_ms;
    const auto left =
        Value(WithoutNeedlessTiles(graph, *std::move(tiled), std::numeric_limits<int64_t>::max()));
    EXPECT_TRUE(left->tiles.empty()) << left->tiles.ToString();
    EXPECT_LE(left->predicted_ms, ms);
    EXPECT_EQ(left->plan.plan.arena, untiled);
    return;
  }
  FAIL() << "no tiles";
}

}  // namespace
}  // namespace ashlar
