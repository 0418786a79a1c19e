// A search for the smallest plan that may compute more never ends with more bytes; in as many bytes
// it never does more operations. Budgets see the same plans: the bytes of the smallest suffice, and
// more bytes never take more operations or time. On random networks of floats and of 8 bits:
// chains, residuals, branches. ASHLAR_RANDOM_CASES=200 tries more of them, ASHLAR_RANDOM_SEED=N one
// of them alone.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "absl/functional/function_ref.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/pooling.h"
#include "quantization/quantize_model.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/tiling/plan_choice.h"
#include "runtime/plan/tiling/tiled_plan.h"
#include "tests/support/environment.h"
#include "tests/support/graph_maker.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::GraphMaker;
using testing::Value;

constexpr double kEndless = std::numeric_limits<double>::infinity();

// Returns a network of blocks as mobile networks have them: an expanding 1x1, a depthwise and a
// projecting 1x1, with a sum around some; or two convolutions beside each other, joined.
Graph RandomBlocks(std::mt19937_64& random) {
  GraphMaker maker;
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto convolution = [&](int x, int64_t channels, int64_t window, int64_t stride,
                               bool depthwise) {
    ConvBiasParam param;
    param.nonlineMode = depthwise ? ScalarFunction::kRelu : ScalarFunction::kIdentity;
    param.stride_h = param.stride_w = stride;
    param.pad_h = param.pad_w = window / 2;
    const int64_t in = maker.var(x).type.shape[1];
    Shape filter = {channels, in, window, window};
    if (depthwise) {
      param.sparse = SparseMode::kGroup;
      filter = {in, 1, 1, window, window};
    }
    const int w = maker.Constant(testing::RandomTensor(random, filter));
    const int bias = maker.Constant(testing::RandomTensor(random, {1, channels, 1, 1}));
    return maker.Add<ConvBiasForward>(param, {x, w, bias});
  };
  const int64_t size = 8 * pick(2, 5);
  int x = maker.Input("x", {1, 3, size, size});
  x = convolution(x, 4 * pick(1, 3), 3, 2, false);
  for (int64_t block = pick(2, 4); block > 0; --block) {
    const int64_t channels = maker.var(x).type.shape[1];
    if (pick(1, 4) == 1) {
      const int a = convolution(x, 4 * pick(1, 2), 1, 1, false);
      const int b = convolution(x, 4 * pick(1, 2), 3, 1, false);
      x = maker.Add<Concat>({.axis = 1}, {a, b});
      continue;
    }
    const bool residual = pick(1, 2) == 1;
    const int64_t wide = channels * pick(2, 4);
    const bool halves = maker.var(x).type.shape[2] >= 8;
    int y = convolution(x, wide, 1, 1, false);
    y = convolution(y, wide, 3, residual || !halves ? 1 : pick(1, 2), true);
    y = convolution(y, residual ? channels : 4 * pick(1, 4), 1, 1, false);
    x = residual ? maker.Add<Elemwise>({ScalarFunction::kAdd}, {x, y}) : y;
  }
  PoolingParam pool;
  pool.mode = PoolingMode::kAverage;
  pool.window_h = pool.window_w = maker.var(x).type.shape[2];
  x = maker.Add<PoolingForward>(pool, {x});
  maker.Output(x);
  return std::move(maker).Build();
}

// Returns network number `seed`; nullopt if it has no 8-bit operators.
std::optional<Graph> NetworkOf(int64_t seed, const PlanTarget& target) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  const int64_t kind = seed / 2 % 3;
  Graph graph =
      kind == 0 ? RandomBlocks(random) : testing::RandomImageGraph(random, /*joins=*/kind == 2, 12);
  if (seed % 2 == 0) return graph;
  absl::StatusOr<Graph> twin = EightBitTwin(graph, target);
  if (!twin.ok()) return std::nullopt;
  return *std::move(twin);
}

PlanRequest MonotoneRequest() {
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  return request;
}

// Returns the work of a network's searches: little, so that plans may be far from the best, and
// more for every fourth network (in nightly tests the default).
int64_t WorkOf(int64_t seed) {
  if (seed % 4 != 3) return 500'000;
  return testing::LongTests() ? memory::SearchLimits().work : 10'000'000;
}

// Calls `test` with random networks.
void ForEachNetwork(const PlanRequest& request, const char* name, int64_t usual,
                    absl::FunctionRef<void(const Graph&, int64_t seed)> test) {
  cpu::RegisterDevice();
  const int64_t alone = testing::NumberFrom("ASHLAR_RANDOM_SEED", -1);
  const int64_t many = testing::LongTests() ? 6 * usual : usual;
  const int64_t cases = testing::NumberFrom("ASHLAR_RANDOM_CASES", testing::kSanitized ? 3 : many);
  const int64_t first = testing::NumberFrom("ASHLAR_RANDOM_FIRST", 0);
  for (int64_t seed = alone < 0 ? first : alone; seed < (alone < 0 ? cases : alone + 1); ++seed) {
    SCOPED_TRACE(::testing::Message()
                 << "again: ASHLAR_RANDOM_SEED=" << seed
                 << " runtime_session_test --gtest_filter='MonotonePlan." << name << "'");
    const std::optional<Graph> graph = NetworkOf(seed, request.target);
    if (graph) test(*graph, seed);
  }
}

TEST(MonotonePlan, MoreOperationsNeverTakeMoreBytes) {
  PlanRequest request = MonotoneRequest();
  int smaller = 0;
  const auto test = [&](const Graph& graph, int64_t seed) {
    request.planning.planner.limits.work = WorkOf(seed);
    int64_t bytes = std::numeric_limits<int64_t>::max();
    double operations = 0;
    // Also limits between the stages of the search.
    for (const double limit : {0.0, 0.02, 0.05, 0.2, 0.3, 1.0, kEndless}) {
      request.target.budget = MemoryBudget{0, limit};
      const auto planned = Value(PlanGraph(Graph(graph), request));
      const int64_t arena = planned->plan.plan.arena;
      EXPECT_LE(arena, bytes) << "with a limit of " << limit;
      EXPECT_LE(planned->extra_flops_ratio, limit);
      if (arena == bytes) {
        EXPECT_LE(planned->extra_flops_ratio, operations) << "for the same bytes";
      }
      smaller += limit > 0 && arena < bytes;
      bytes = arena;
      operations = planned->extra_flops_ratio;
    }
  };
  ForEachNetwork(request, "MoreOperationsNeverTakeMoreBytes", 4, test);
  if (testing::NumberFrom("ASHLAR_RANDOM_SEED", -1) < 0 && !testing::kSanitized) {
    EXPECT_GT(smaller, 1) << "operations done twice bring something";
  }
}

TEST(MonotonePlan, MorePlanningTimeNeverTakesMoreBytes) {
  PlanRequest request = MonotoneRequest();
  const auto test = [&](const Graph& graph, int64_t seed) {
    int64_t before = std::numeric_limits<int64_t>::max();
    for (const int64_t multiple : {1, 4, 20}) {
      if (multiple > 4 && !testing::LongTests()) break;
      request.planning.planner.limits.work = multiple * memory::SearchLimits().work;
      request.target.budget = MemoryBudget{0, seed % 2 == 0 ? 0 : 0.3};
      const auto planned = Value(PlanGraph(Graph(graph), request));
      EXPECT_LE(planned->plan.plan.arena, before) << multiple << " times the usual work";
      before = planned->plan.plan.arena;
    }
  };
  ForEachNetwork(request, "MorePlanningTimeNeverTakesMoreBytes", 1, test);
}

// A larger budget takes neither more operations nor more expected time.
void ExpectMoreBytesCostNoMore(const Graph& graph, int64_t seed) {
  PlanRequest request = MonotoneRequest();
  request.debug.keep_untiled = true;
  request.planning.planner.limits.work = WorkOf(seed);
  const double limit = std::array{0.0, 0.3, kEndless}[static_cast<size_t>(seed % 3)];
  request.target.budget = MemoryBudget{0, limit};
  const auto smallest = Value(PlanGraph(Graph(graph), request));
  const int64_t least = smallest->plan.plan.arena;
  const int64_t whole = std::max(least, smallest->untiled->plan.plan.arena);
  PlanPoint before = PlanPoint::Of(*smallest);
  before.ms = kEndless;
  for (const double share : {0.0, 0.1, 0.4, 1.0}) {
    const int64_t bytes = least + static_cast<int64_t>(static_cast<double>(whole - least) * share);
    SCOPED_TRACE(::testing::Message() << bytes << " bytes of " << whole << ", limit " << limit);
    request.target.budget = MemoryBudget{bytes, limit};
    const absl::StatusOr<std::unique_ptr<PlannedGraph>> planned = PlanGraph(Graph(graph), request);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const PlanPoint point = PlanPoint::Of(**planned);
    EXPECT_LE(point.arena, bytes);
    EXPECT_LE(point.extra_flops, before.extra_flops);
    EXPECT_LE(point.ms, before.ms);
    before = point;
  }
  request.target.budget = MemoryBudget{0, limit};
  std::vector<PlanPoint> points;
  for (const auto& point : Value(PlanFrontier(Graph(graph), request))) {
    points.push_back(PlanPoint::Of(*point));
  }
  EXPECT_EQ(ParetoOptimal(points).size(), points.size());
  if (smallest->tiles.empty()) return;  // may have other formats than tiles
  ASSERT_FALSE(points.empty());
  EXPECT_LE(points.back().arena, least);
}

TEST(MonotonePlan, MoreBytesNeverTakeMoreOperationsOrTime) {
  ForEachNetwork(MonotoneRequest(), "MoreBytesNeverTakeMoreOperationsOrTime", 2,
                 ExpectMoreBytesCostNoMore);
}

// Regression: budgets that hold the whole graph knew only one of its rewrites, and took longer than
// smaller ones.
TEST(MonotonePlan, MoreBytesKnowFasterRewrites) {
  cpu::RegisterDevice();
  for (const int64_t seed : {155, 159}) {
    SCOPED_TRACE(seed);
    const std::optional<Graph> graph = NetworkOf(seed, MonotoneRequest().target);
    ASSERT_TRUE(graph);
    ExpectMoreBytesCostNoMore(*graph, seed);
  }
}

}  // namespace
}  // namespace ashlar
