// Views, overwriting and placements of second and later outputs.
#include "runtime/schedule/arena.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/scheduler.h"
#include "tests/runtime/schedule/graph_of_bytes.h"
#include "tests/runtime/schedule/peak_of_order.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// Each output of the last node passes through an operator of its own, which keeps it in the arena.
struct TwoOutputs {
  TestGraph graph;
  int first = 0, second = 0;  // vars

  void Add(TestNode node, std::vector<int> inputs) {
    first = graph.Add(std::move(node), std::move(inputs));
    second = first + 1;
    graph.Output(graph.Compute(8, {first}));
    graph.Output(graph.Compute(8, {second}));
  }
};

TEST(SeveralOutputs, AreViews) {
  TwoOutputs two;
  const int x = two.graph.Compute(64, {two.graph.Input(64)});
  const int node = two.graph.NumNodes();
  two.Add({.output_bytes = {16, 48},
           .aliasing = {.views = {{.output = 1, .input = 0, .offset = 16},
                                  {.output = 0, .input = 0, .offset = 0}}}},
          {x});
  const int first = two.first, second = two.second;
  const TestCase c = std::move(two.graph).Build();
  const int storage = c.model.views[x].storage;
  EXPECT_EQ(c.model.views[first].storage, storage);
  EXPECT_EQ(c.model.views[first].offset, 0);
  EXPECT_EQ(c.model.views[second].storage, storage);
  EXPECT_EQ(c.model.views[second].offset, 16);
  EXPECT_TRUE(c.model.writes[node].empty());  // 0 bytes copied
  EXPECT_EQ(c.model.storages[storage].readers.size(), 3u);
}

TEST(SeveralOutputs, OneIsAViewTheOtherIsNot) {
  TwoOutputs two;
  const int x = two.graph.Compute(64, {two.graph.Input(64)});
  const int node = two.graph.NumNodes();
  two.Add(
      {.output_bytes = {32, 48}, .aliasing = {.views = {{.output = 1, .input = 0, .offset = 16}}}},
      {x});
  const int first = two.first, second = two.second;
  const TestCase c = std::move(two.graph).Build();
  EXPECT_EQ(c.model.views[second].storage, c.model.views[x].storage);
  EXPECT_EQ(c.model.writes[node], std::vector<int>{c.model.views[first].storage});
}

// Each output overwrites an input of its own; if both name the same input, the first takes it.
TEST(SeveralOutputs, Overwrite) {
  for (const bool same : {false, true}) {
    SCOPED_TRACE(same);
    TwoOutputs two;
    const int input = two.graph.Input(64);
    const int x = two.graph.Compute(64, {input}), y = two.graph.Compute(64, {input});
    const int node = two.graph.NumNodes();
    two.Add({.output_bytes = {64, 64},
             .aliasing = {.overwrites = {{.output = 1, .input = 1},
                                         {.output = 0, .input = same ? 1 : 0}}}},
            {x, y});
    const int first = two.first, second = two.second;
    const TestCase c = std::move(two.graph).Build();
    ASSERT_EQ(c.model.overwrites[node].size(), 2u);
    const std::vector<int> order = RandomOrder(c, 1);
    const Lifetimes lifetimes = ComputeLifetimes(c.graph, c.model, order, c.workspace, 1);
    EXPECT_EQ(lifetimes.num_overwrites, same ? 1 : 2);
    const auto buffer = [&](int var) {
      return lifetimes.storage_buffer[c.model.views[var].storage];
    };
    EXPECT_EQ(lifetimes.problem.inside[0].inner, buffer(second));
    EXPECT_EQ(lifetimes.problem.inside[0].outer, buffer(y));
    if (!same) {
      EXPECT_EQ(lifetimes.problem.inside[1].inner, buffer(first));
      EXPECT_EQ(lifetimes.problem.inside[1].outer, buffer(x));
    }
    const int64_t peak = SimulatePeak(c.graph, c.model, order, c.workspace);
    EXPECT_EQ(peak, Value(PeakOfOrder(c.graph, c.model, order, c.workspace)));
    // Two tensors of 64 bytes, and a third if one output needs memory of its own.
    EXPECT_EQ(peak, same ? 192 : 128);
  }
}

TEST(SeveralOutputs, HoldPlacedInputs) {
  TwoOutputs two;
  const int input = two.graph.Input(64);
  const int x = two.graph.Compute(24, {input}), y = two.graph.Compute(40, {input});
  const int node = two.graph.NumNodes();
  two.Add({.output_bytes = {64, 96},
           .aliasing = {.placements = {{.output = 1, .input = 0, .offset = 8},
                                       {.output = 1, .input = 1, .offset = 32}}}},
          {x, y});
  const int second = two.second;
  const TestCase c = std::move(two.graph).Build();
  ASSERT_EQ(c.model.placements[node].size(), 2u);
  for (const Placement& placement : c.model.placements[node]) {
    EXPECT_EQ(placement.outer, c.model.views[second].storage);
  }
  EXPECT_EQ(c.model.placements[node][0].inner, c.model.views[x].storage);
  EXPECT_EQ(c.model.placements[node][1].offset, 32);
}

}  // namespace
}  // namespace ashlar::testing
