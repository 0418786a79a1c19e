// Nodes that must run before others (StorageModel::runs_before): every order obeys.
#include <gtest/gtest.h>

#include "runtime/schedule/ordered_plan.h"
#include "runtime/schedule/search.h"
#include "runtime/schedule/tasks.h"
#include "tests/runtime/schedule/peak_of_order.h"
#include "tests/runtime/schedule/random_graphs.h"

namespace ashlar::testing {
namespace {

TestCase CaseWithEdges(uint32_t seed) {
  TestCase c = seed % 2 == 0 ? RandomCase(seed, 10 + static_cast<int>(seed))
                             : WideCase(seed, 10 + static_cast<int>(seed), 6);
  AddRandomEdges(seed, 2 + static_cast<int>(seed % 12), c);
  return c;
}

TEST(RunsBefore, EverySchedulerObeys) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = CaseWithEdges(seed);
    for (const Order order : {Order::kLeastPeak, Order::kMegEngine, Order::kAsGiven}) {
      SCOPED_TRACE(std::string(Name(order)));
      const Schedule schedule = ScheduleNodes(order, c.graph, c.model, c.workspace);
      ExpectValidOrder(c, schedule.order);
      EXPECT_EQ(schedule.peak_bytes, *PeakOfOrder(c.graph, c.model, schedule.order, c.workspace));
    }
  }
}

TEST(RunsBefore, OrdersThatAPlanTriesObey) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = CaseWithEdges(seed);
    OrderedPlanOptions options;
    options.alignment = 16;
    options.planner.planner = "best_fit";
    const auto plan = PlanInOrder(
        c.graph, c.model, ScheduleMegEngine(c.graph, c.model, c.workspace), c.workspace, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ExpectValidOrder(c, plan->schedule.order);
  }
}

// Tests the searches one by one: whole graphs rarely need the beam and the windows.
TEST(RunsBefore, EverySearchObeys) {
  constexpr int64_t kEffort = 2000;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = CaseWithEdges(seed);
    const std::vector<std::vector<int>> before = NodesBefore(c.graph, c.model);
    ArenaSimulator arena(c.graph, c.model, c.workspace);
    const TaskGraph tasks = BuildTaskGraph(c.model, arena, before);
    std::vector<int> beam, exact, windows;
    for (size_t s = 0; s < tasks.segments.size(); ++s) {
      const int segment = static_cast<int>(s);
      const int64_t bound = SegmentBound(arena, tasks, segment);
      const std::vector<int> by_beam = SearchByBeam(arena, tasks, segment, bound, kEffort);
      std::vector<int> by_windows = tasks.segments[s];
      ImproveByWindows(arena, tasks, by_windows, kEffort);
      const ExactOrder found = SearchExactly(arena, tasks, segment, bound, 100 * kEffort);
      const std::vector<int>& by_search = found.order.empty() ? by_beam : found.order;
      beam.insert(beam.end(), by_beam.begin(), by_beam.end());
      windows.insert(windows.end(), by_windows.begin(), by_windows.end());
      exact.insert(exact.end(), by_search.begin(), by_search.end());
      for (int task : by_beam) arena.Run(task);
    }
    for (const std::vector<int>* order : {&beam, &windows, &exact}) {
      ExpectValidOrder(c, InsertFreeNodes(*order, c.model.scheduled, before));
    }
  }
}

// Two branches, best run one after another; the edges make the large tensors of both live at once.
TEST(RunsBefore, AnEdgeMayRaiseThePeak) {
  TestGraph g;
  const int x = g.Input(1);
  const int large = g.Compute(100, {x}), other = g.Compute(100, {x});
  const int small = g.Compute(10, {large}), little = g.Compute(10, {other});
  g.Output(g.Compute(1, {small, little}));
  TestCase c = std::move(g).Build();
  EXPECT_EQ(ScheduleMemory(c.graph, c.model, c.workspace).peak_bytes, 120);
  for (const auto& [before, after] : {std::pair(other, small), std::pair(large, little)}) {
    c.model.runs_before.push_back({c.graph.var(before).producer, c.graph.var(after).producer});
  }
  const Schedule schedule = ScheduleMemory(c.graph, c.model, c.workspace);
  ExpectValidOrder(c, schedule.order);
  EXPECT_EQ(schedule.peak_bytes, 210);
}

}  // namespace
}  // namespace ashlar::testing
