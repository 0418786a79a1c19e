// Tiled graphs on the CPU's kernels: the same results as untiled, within the planned memory.
#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/stages/rewrite.h"
#include "tests/runtime/inference.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kMaxChannels = 20;  // more than a block

struct Case {
  Graph graph;      // after the passes
  Graph reference;  // before
  TileSpec tiles;
  HostTensor input;
};

Case MakeCase(uint64_t seed, bool joins, const PlanRequest& request) {
  std::mt19937_64 random(seed);
  Case c;
  c.reference = RandomImageGraph(random, joins, kMaxChannels);
  c.graph = std::move(
      Value(RewriteGraph(c.reference, request.target, request.planning, {.tiled = true})).graph);
  c.tiles = seed % 3 > 0 ? RandomTiles(random, c.graph) : RandomWideTiles(random, c.graph);
  c.input = RandomTensor(random, c.graph.var(c.graph.inputs()[0].var).type.shape);
  return c;
}

// Spends no time on small arenas.
PlanRequest QuickPlans(bool exact, int threads) {
  PlanRequest request;
  request.planning.kernels.exact = exact;
  request.target.threads = threads;
  request.planning.planner.limits.work = 0;
  return request;
}

struct Kind {
  bool joins = false, exact = false;
};

class TiledKernelsTest : public ::testing::TestWithParam<Kind> {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

// A kernel computes an element with the same sum, wherever its tile begins. Winograd's is an
// exception: its patches move with the tile.
TEST_P(TiledKernelsTest, AnyGraphInAnyTilesComputesTheSame) {
  const auto [joins, exact] = GetParam();
  constexpr int kGraphs = 300;
  int same_kernels = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    PlanRequest request = QuickPlans(exact, 1 + static_cast<int>(seed % 2));
    const Case c = MakeCase(seed, joins, request);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " joins " << joins << " exact " << exact
                                      << " tiles " << c.tiles.ToString());
    const Inference whole = Infer(c.graph, request, c.input);
    request.target.tiles = c.tiles;
    const Inference tiled = Infer(c.graph, request, c.input);
    const bool same = exact && SameKernels(whole, tiled);
    same_kernels += same;
    const std::vector<HostTensor> expected = Value(Evaluate(c.reference, c.input));
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "output " << i);
      if (same) {
        ASSERT_EQ(CountDifferences(tiled.outputs[i], whole.outputs[i]), 0);
      }
      ASSERT_LE(RelativeError(tiled.outputs[i], whole.outputs[i]), 1e-4);
      ASSERT_LE(RelativeError(tiled.outputs[i], expected[i]), 1e-4);
    }
  }
  if (exact) {
    EXPECT_GE(same_kernels, kGraphs / 2);
    RecordProperty("same_kernels", same_kernels);
  }
}

TEST_P(TiledKernelsTest, NoRunLeavesItsPlan) {
  const auto [joins, exact] = GetParam();
  for (uint64_t seed = 1000; seed < 1060; ++seed) {
    PlanRequest request = QuickPlans(exact, 1 + static_cast<int>(seed % 2));
    const Case c = MakeCase(seed, joins, request);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " tiles " << c.tiles.ToString());
    request.planning.passes = "none";
    request.target.tiles = c.tiles;
    const InputTensors inputs = {{c.graph.inputs()[0].name, c.input}};
    const Measurement measured = Value(Measure(c.graph, request, inputs));
    EXPECT_TRUE(measured.ok);
    EXPECT_LE(measured.arena.actual_bytes, measured.arena.planned_bytes);
    EXPECT_EQ(measured.heap.own_calls, 0);
    EXPECT_TRUE(Value(CheckGuards(c.graph, request, inputs)).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(AllGraphs, TiledKernelsTest,
                         ::testing::Values(Kind{false, false}, Kind{false, true}, Kind{true, false},
                                           Kind{true, true}),
                         [](const ::testing::TestParamInfo<Kind>& info) {
                           return absl::StrCat(info.param.joins ? "Joins" : "Chains",
                                               info.param.exact ? "Exact" : "Fast");
                         });

}  // namespace
}  // namespace ashlar::testing
