// Requests in plans: as they were asked, with the answers beside them.
#include "runtime/plan/plan_graph.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/record/plan_as_recorded.h"
#include "runtime/plan/record/recorded_tiles.h"
#include "runtime/plan/request/request_options.h"
#include "runtime/plan/tiling/tiled_plan.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::Value;

Graph AnyGraph() {
  std::mt19937_64 random(5);
  return testing::RandomImageGraph(random, /*joins=*/false, 12);
}

// Returns the request of these options ("memory-budget=min align=256"). Little work: how good the
// addresses are does not matter.
PlanRequest RequestOf(const std::string& options) {
  PlanRequest request;
  request.planning.planner.limits.work = 10'000;
  request.target.reading_bytes = 12345;
  EXPECT_TRUE(testing::IsOk(SetOptions(Value(ParseOptionTexts(options)), request)));
  return request;
}

// Expects the same options, and the same of all else that a request has.
void ExpectSameRequest(const PlanRequest& stored, const PlanRequest& asked) {
  for (const RequestOption& option : RequestOptions()) {
    EXPECT_EQ(option.get(stored), option.get(asked)) << option.name;
  }
  EXPECT_EQ(stored.target.comp_node, asked.target.comp_node);
  EXPECT_EQ(stored.target.threads, asked.target.threads);
  EXPECT_EQ(stored.target.tuned_tiles, asked.target.tuned_tiles);
  EXPECT_EQ(stored.target.reading_bytes, asked.target.reading_bytes);
  const auto find_smallest = [](const auto& budget) { return budget && budget->find_smallest; };
  EXPECT_EQ(find_smallest(stored.target.budget), find_smallest(asked.target.budget));
  EXPECT_EQ(find_smallest(stored.target.total), find_smallest(asked.target.total));
  EXPECT_EQ(stored.planning.record, asked.planning.record);
  EXPECT_EQ(stored.planning.recorded, asked.planning.recorded);
  EXPECT_EQ(stored.planning.most_weights, asked.planning.most_weights);
  EXPECT_EQ(stored.debug.keep_untiled, asked.debug.keep_untiled);
  EXPECT_EQ(stored.debug.guard_bytes, asked.debug.guard_bytes);
}

// Expects the request, and that planning again without a search gives the same plan.
void ExpectKept(const PlannedGraph& planned, const PlanRequest& request) {
  ExpectSameRequest(planned.request, request);
  PlanRequest settled = planned.SettledRequest();
  settled.target.budget.reset();
  settled.target.total.reset();
  const auto again = Value(PlanGraph(AnyGraph(), settled));
  EXPECT_EQ(again->tiles, planned.tiles);
  EXPECT_LE(again->plan.plan.arena, planned.plan.plan.arena) << "at least as much work";
  EXPECT_EQ(again->weights.bytes, planned.weights.bytes);
  EXPECT_EQ(Value(RecordPlan(AnyGraph(), planned)).alignment, request.debug.alignment);
}

TEST(PlanGraphTest, ThePlansRequestIsTheCallers) {
  cpu::RegisterDevice();
  int tiled = 0;
  for (const char* options : {
           "",
           "align=256",
           "passes=fuse prefer=memory exact=on",
           "release-input=on memory-budget=min",
           "memory-budget=min max-extra-flops=0.25 align=512",
           "memory-budget=1GiB",
           "total-budget=1GiB",
       }) {
    SCOPED_TRACE(options);
    const PlanRequest request = RequestOf(options);
    const auto planned = Value(PlanGraph(AnyGraph(), request));
    ExpectKept(*planned, request);
    tiled += !planned->tiles.empty();
  }
  EXPECT_GT(tiled, 0) << "tiles were found, and are not in the request";
}

TEST(PlanGraphTest, ABudgetForTheTotalFindsTilesAndWeightsBesideTheRequest) {
  cpu::RegisterDevice();
  PlanRequest request = RequestOf("total-budget=1");
  request.target.total->find_smallest = true;
  ExpectSameRequest(Value(PlanGraph(AnyGraph(), request))->request, request);
}

TEST(PlanGraphTest, UntiledPlansBesideABudgetHaveNone) {
  cpu::RegisterDevice();
  PlanRequest request = RequestOf("memory-budget=min");
  request.debug.keep_untiled = true;
  const auto planned = Value(PlanGraph(AnyGraph(), request));
  ExpectSameRequest(planned->request, request);
  ASSERT_NE(planned->untiled, nullptr);
  request.target.budget.reset();
  ExpectSameRequest(planned->untiled->request, request);
}

TEST(PlanGraphTest, EveryPointOfAFrontierHasTheRequest) {
  cpu::RegisterDevice();
  const PlanRequest request = RequestOf("");
  for (const auto& point : Value(PlanFrontier(AnyGraph(), request))) {
    ExpectSameRequest(point->request, request);
  }
}

TEST(PlanGraphTest, TunedAndRecordedTilesAreThePlansOwn) {
  cpu::RegisterDevice();
  const TileSpec tiles =
      Value(PlanGraph(AnyGraph(), RequestOf("release-input=on memory-budget=min")))->tiles;
  ASSERT_FALSE(tiles.empty());
  PlanRequest request = RequestOf("release-input=on");
  KernelRecord record;
  record.tiles[TilesKey(AnyGraph(), request.target, request.planning)][1] = tiles;
  request.planning.record = std::make_shared<const KernelRecord>(std::move(record));
  request.target.tuned_tiles = true;
  const auto tuned = Value(PlanGraph(AnyGraph(), request));
  EXPECT_EQ(tuned->tiles, tiles);
  ExpectKept(*tuned, request);

  const PlanRequest recorded = RequestAsRecorded(
      std::make_shared<const RecordedPlan>(Value(RecordPlan(AnyGraph(), *tuned))));
  const auto again = Value(PlanGraph(AnyGraph(), recorded));
  EXPECT_EQ(again->tiles, tiles);
  ExpectSameRequest(again->request, recorded);
}

}  // namespace
}  // namespace ashlar
