#include "runtime/schedule/arena.h"

#include "runtime/schedule/scheduler.h"
#include "tests/runtime/schedule/graph_of_bytes.h"
#include "tests/runtime/schedule/peak_of_order.h"

namespace ashlar::testing {
namespace {

int64_t SimulatedPeak(const TestCase& c, const std::vector<int>& order) {
  const auto peak = PeakOfOrder(c.graph, c.model, order, c.workspace);
  EXPECT_TRUE(peak.ok()) << peak.status();
  const int64_t simulated = SimulatePeak(c.graph, c.model, order, c.workspace);
  EXPECT_EQ(simulated, *peak);
  return simulated;
}

TEST(ArenaSimulator, AgreesWithLifetimesOnRandomOrders) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = RandomCase(seed, 3 + static_cast<int>(seed % 30));
    for (uint32_t i = 0; i < 3; ++i) SimulatedPeak(c, RandomOrder(c, seed + i));
    if (HasFailure()) return;
  }
}

TEST(ArenaSimulator, WhatANodeAddsNeverGrowsWhenOthersRunFirst) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = RandomCase(seed, 10);
    ArenaSimulator small(c.graph, c.model, c.workspace);
    ArenaSimulator large(c.graph, c.model, c.workspace);
    // `large` comes before `small` in one order; a node that both can run follows.
    const std::vector<int> order = RandomOrder(c, seed);
    for (size_t ahead = 0; ahead < order.size(); ++ahead) {
      for (size_t k = 0; k < ahead; ++k) {
        for (size_t i = 0; i < ahead; ++i) {
          if (i < k) small.Run(order[i]);
          large.Run(order[i]);
        }
        for (size_t n = ahead; n < order.size(); ++n) {
          const std::vector<int>& inputs = c.graph.node(order[n]).inputs;
          if (!std::all_of(inputs.begin(), inputs.end(),
                           [&](int var) { return small.HasRun(c.graph.var(var).producer); })) {
            continue;
          }
          const int64_t small_live = small.live();
          const int64_t large_live = large.live();
          const int64_t small_step = small.Run(order[n]) - small_live;
          const int64_t large_step = large.Run(order[n]) - large_live;
          ASSERT_GE(small_step, large_step);
          ASSERT_GE(small.live() - small_live, large.live() - large_live);
          small.Undo({order[n]}, small_live);
          large.Undo({order[n]}, large_live);
        }
        small.Undo(order, 0);
        large.Undo(order, 0);
      }
    }
  }
}

TEST(ArenaSimulator, TakesBackWhatRan) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = RandomCase(seed, 12);
    ArenaSimulator arena(c.graph, c.model, c.workspace);
    for (int node : RandomOrder(c, seed)) {
      const int64_t live = arena.live();
      const int64_t step = arena.Run(node);
      const int64_t after = arena.live();
      arena.Undo({node}, live);
      ASSERT_EQ(arena.Run(node), step);
      ASSERT_EQ(arena.live(), after);
    }
    EXPECT_EQ(arena.live(), 0);
  }
}

TEST(ArenaSimulator, OverwritesOnlyWhatDiesThere) {
  TestGraph g;
  const int x = g.Compute(100, {g.Input(1)});
  const int y = g.InPlace({x});
  const int z = g.InPlace({x, y}, 0);
  g.Output(g.Compute(1, {z}));
  const TestCase c = std::move(g).Build();
  // y may not overwrite x, which z still reads; z overwrites x.
  EXPECT_EQ(SimulatedPeak(c, {0, 1, 2, 3, 4, 5}), 200);
}

TEST(ArenaSimulator, PlacedPartsAreNotCountedTwice) {
  TestGraph g;
  const int x = g.Input(1);
  const int a = g.Compute(100, {x});
  const int b = g.Compute(50, {x});
  const int whole = g.Concat({a, b});
  const int reads_both = g.Compute(7, {whole, a});
  g.Output(g.Compute(1, {reads_both, a}));
  const TestCase c = std::move(g).Build();
  EXPECT_EQ(SimulatedPeak(c, {0, 1, 2, 3, 4, 5, 6}), 157);
}

TEST(ArenaSimulator, AMovedInputMakesRoomForItsCopy) {
  const auto peak = [](bool moves, bool is_read_later) {
    TestGraph g;
    if (moves) g.AllowMoves();
    const int x = g.Compute(100, {g.Input(1)});
    const int kept = g.ViewOf(x, 20, 80);
    const int copy = g.Concat({kept});
    const int made = g.Compute(20, {g.Input(1)});
    const int next = g.Concat({copy, made});
    g.Output(is_read_later ? g.Compute(1, {next, x}) : g.Compute(1, {next}));
    const TestCase c = std::move(g).Build();
    std::vector<int> order(c.graph.nodes().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    return SimulatedPeak(c, order);
  };
  EXPECT_EQ(peak(false, false), 180);
  EXPECT_EQ(peak(true, false), 100);
  EXPECT_EQ(peak(true, true), 200);
}

TEST(ArenaSimulator, CallersTensorsAndConstantsCostNothing) {
  TestGraph g;
  const int x = g.Input(1000);
  const int w = g.Constant(1000);
  const int y = g.Compute(10, {x, w}, 5);
  g.Output(g.Compute(1000, {y}));
  const TestCase c = std::move(g).Build();
  EXPECT_EQ(SimulatedPeak(c, {0, 1, 2, 3, 4}), 15);
}

}  // namespace
}  // namespace ashlar::testing
