#include "runtime/schedule/ordered_plan.h"

#include "memory/problem/validator.h"
#include "memory/problem/work.h"
#include "tests/runtime/schedule/graph_of_bytes.h"
#include "tests/runtime/schedule/peak_of_order.h"

namespace ashlar::testing {
namespace {

OrderedPlan Plan(const TestCase& c, const OrderedPlanOptions& options) {
  auto plan = PlanInOrder(c.graph, c.model, ScheduleMemory(c.graph, c.model, c.workspace),
                          c.workspace, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// Limits nodes, not time, so that results are the same on every machine.
OrderedPlanOptions Options(const char* planner) {
  OrderedPlanOptions options;
  options.alignment = 16;
  options.planner.planner = planner;
  options.planner.limits = {.work = memory::kEndlessWork, .nodes = 500};
  return options;
}

// Trying other orders and fewer overwrites gives a plan for the returned order, never larger than
// the plan of the first order. With weak planners it is often smaller.
TEST(PlanInOrder, IsNeverWorseThanThePlanOfTheGivenOrder) {
  for (const char* planner : {"auto", "pushdown", "best_fit"}) {
    int smaller = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(::testing::Message() << planner << " seed " << seed);
      const TestCase c = RandomCase(seed, 30);
      const OrderedPlanOptions options = Options(planner);
      const OrderedPlan plan = Plan(c, options);
      ExpectValidOrder(c, plan.schedule.order);
      const memory::Verdict verdict = ValidatePlan(plan.lifetimes.problem, plan.plan.plan);
      EXPECT_TRUE(verdict.ok()) << verdict.message;
      const auto peak = PeakOfOrder(c.graph, c.model, plan.schedule.order, c.workspace);
      ASSERT_TRUE(peak.ok());
      EXPECT_EQ(plan.schedule.peak_bytes, *peak);
      EXPECT_LE(plan.schedule.bound_bytes, *peak);
      EXPECT_EQ(plan.schedule.exact, plan.schedule.bound_bytes == *peak);

      const Schedule first = ScheduleMemory(c.graph, c.model, c.workspace);
      const Lifetimes lifetimes =
          ComputeLifetimes(c.graph, c.model, first.order, c.workspace, options.alignment);
      const auto once = memory::PlanMemory(lifetimes.problem, options.planner);
      ASSERT_TRUE(once.ok());
      EXPECT_LE(plan.plan.plan.arena, once->plan.arena);
      smaller += plan.plan.plan.arena < once->plan.arena;
      if (HasFailure()) return;
    }
    if (std::string(planner) != "auto") {
      EXPECT_GT(smaller, 5) << planner;
    }
  }
}

TEST(PlanInOrder, AGivenOrderStaysWhereNoOtherMayBeTried) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const TestCase c = RandomCase(seed, 30);
    OrderedPlanOptions options = Options("best_fit");
    options.reorder = false;
    const Schedule schedule = ScheduleMegEngine(c.graph, c.model, c.workspace);
    const auto plan = PlanInOrder(c.graph, c.model, schedule, c.workspace, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->schedule.order, schedule.order);
  }
}

TEST(PlanInOrder, ErrorsOfThePlannerComeThrough) {
  const TestCase c = RandomCase(1, 10);
  OrderedPlanOptions options;
  options.planner.planner = "magic";
  const auto plan = PlanInOrder(c.graph, c.model, ScheduleMemory(c.graph, c.model, c.workspace),
                                c.workspace, options);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
}

// An overwrite is dropped if and only if both buffers fit beside the live bytes.
TEST(WithoutNeedlessOverwrites, KeepsTheBound) {
  int dropped = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = RandomCase(seed, 30);
    const Schedule schedule = ScheduleMemory(c.graph, c.model, c.workspace);
    const Lifetimes all = ComputeLifetimes(c.graph, c.model, schedule.order, c.workspace, 16);
    const auto bytes = [](const Lifetimes& lifetimes) {
      int64_t most = 0;
      const auto profile = memory::LiveProfile(lifetimes.problem);
      EXPECT_TRUE(profile.ok()) << profile.status();
      for (const memory::LiveBytes& entry : *profile) most = std::max(most, entry.bytes);
      return most;
    };
    const Lifetimes fewer = WithoutNeedlessOverwrites(all, bytes(all));
    EXPECT_EQ(bytes(fewer), bytes(all));
    EXPECT_EQ(all.problem.inside.size() - fewer.problem.inside.size(),
              static_cast<size_t>(all.num_overwrites - fewer.num_overwrites));
    dropped += all.num_overwrites - fewer.num_overwrites;
    // With no room to spare every overwrite is needed.
    EXPECT_EQ(WithoutNeedlessOverwrites(all, 0).num_overwrites, all.num_overwrites);
    if (HasFailure()) return;
  }
  EXPECT_GT(dropped, 30);
}

}  // namespace
}  // namespace ashlar::testing
