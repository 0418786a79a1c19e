// Compares the smallest budget with a search that tries tile specs one after another.
// ASHLAR_RANDOM_CASES=200 tries more graphs than a usual run.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "graph/tiling/tile.h"
#include "opr/elemwise.h"
#include "opr/table.h"
#include "quantization/quantize_model.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"
#include "tests/support/environment.h"
#include "tests/support/graph_maker.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::NodesInOrder;
using testing::RandomImageGraph;
using testing::Value;

// An 8-bit graph takes twice as long.
int RandomCases(bool eight_bits) {
  const int usual = testing::LongTests() && !eight_bits ? 4 : 2;
  return static_cast<int>(testing::NumberFrom("ASHLAR_RANDOM_CASES", usual));
}

PlanRequest Request() {
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx512/32K/1M"));
  return request;
}

// All simple tile specs of a graph that has been through the passes.
class Specs {
 public:
  explicit Specs(const Graph& graph) : graph_(graph), cuts_(FindCuts(graph, NodesInOrder(graph))) {}

  // Returns these specs:
  // - the untiled graph;
  // - one segment between any two cuts, or two adjacent segments, over all images: in lines,
  // rolling
  //   lines (`rolling`), rows or a grid;
  // - the same within a batch that is split up to any cut, and after one.
  std::vector<TileSpec> All() const {
    std::vector<TileSpec> specs = {{}};
    if (cuts_.empty()) return specs;
    for (std::vector<TileSegment>& list : Within(0, cuts_.size() - 1)) specs.push_back({list});
    const int64_t images = graph_.var(cuts_[0].var).type.shape[0];
    for (size_t last = 1; last < cuts_.size() && images > 1; ++last) {
      const TileSegment batch{Id(0), Id(last), TileKind::kBatch, images, 1, {}};
      specs.push_back({{batch}});
      for (std::vector<TileSegment>& list : Within(0, last)) {
        TileSegment split = batch;
        split.inner = std::move(list);
        specs.push_back({{std::move(split)}});
      }
      for (size_t j = last + 1; j < cuts_.size(); ++j) {
        for (const TileSegment& behind : Between(last, j)) specs.push_back({{batch, behind}});
      }
    }
    return specs;
  }

 private:
  int Id(size_t cut) const { return graph_.node(graph_.var(cuts_[cut].var).producer).id; }
  int64_t Size(size_t cut, int axis) const {
    const Shape& shape = graph_.var(cuts_[cut].var).type.shape;
    return shape.rank() == 4 ? shape[axis] : 0;
  }
  std::vector<TileSegment> Between(size_t i, size_t j) const {
    std::vector<TileSegment> segments;
    const int64_t rows = Size(i, 2), made = std::min(Size(j, 2), Size(j, 3));
    for (const int64_t strips : {rows / 2, rows}) {
      if (strips > 1) segments.push_back({Id(i), Id(j), TileKind::kLines, strips, 1, {}});
    }
    if (rows > 1) segments.push_back({Id(i), Id(j), TileKind::kRolling, rows, 1, {}});
    for (const int64_t strips : {2, 3}) {
      if (Size(j, 2) < strips) continue;
      segments.push_back({Id(i), Id(j), TileKind::kRows, strips, 1, {}});
      if (made >= strips) segments.push_back({Id(i), Id(j), TileKind::kGrid, strips, strips, {}});
    }
    return segments;
  }
  // Returns the lists of one segment between two cuts, or of two adjacent segments.
  std::vector<std::vector<TileSegment>> Within(size_t begin, size_t end) const {
    std::vector<std::vector<TileSegment>> lists;
    for (size_t j = begin + 1; j <= end; ++j) {
      for (size_t i = begin; i < j; ++i) {
        for (const TileSegment& first : Between(i, j)) {
          lists.push_back({first});
          for (size_t k = j + 1; k <= end; ++k) {
            for (const TileSegment& second : Between(j, k)) lists.push_back({first, second});
          }
        }
      }
    }
    return lists;
  }

  const Graph& graph_;
  const std::vector<GraphCut> cuts_;
};

int64_t ArenaOf(const Graph& graph, const PlanRequest& request) {
  const auto planned = PlanGraph(Graph(graph), request);
  return planned.ok() ? (*planned)->plan.plan.arena : std::numeric_limits<int64_t>::max();
}

// Returns the bytes live at once in the tiled graph, without workspaces: no plan is smaller.
// Returns the largest number if the tiles are not possible.
int64_t BoundOf(const Graph& rewritten, const TileSpec& spec) {
  const auto tiled = Tile(rewritten, spec, NodesInOrder(rewritten), Operators());
  if (!tiled.ok()) return std::numeric_limits<int64_t>::max();
  const std::vector<int64_t> no_workspace(tiled->nodes().size(), 0);
  const StorageModel model =
      BuildStorageModel(*tiled, {.parts = spec.Has(TileKind::kRolling), .moves = true});
  return ScheduleAsGiven(*tiled, model, no_workspace).peak_bytes;
}

// Regression: an operator after a segment may need only a slice of its output, with too few columns
// for the segment's tiles. The search for the smallest plan failed with that error.
TEST(SmallestPlanOf, TilesThatDoNotFitArePassedOver) {
  if (!testing::LongTests()) GTEST_SKIP() << testing::kTakesLong;
  cpu::RegisterDevice();
  std::mt19937_64 random(20);
  PlanRequest request = Request();
  request.target.budget.emplace();
  request.planning.planner.limits.work = 10'000;  // the exact arena does not matter
  const auto planned = PlanGraph(RandomImageGraph(random, /*joins=*/false, 20), request);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE((*planned)->tiles.empty());
}

// Runs on float graphs and on the same graphs in 8 bits.
class SmallestPlan : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Bits, SmallestPlan, ::testing::Bool(),
                         [](const auto& bits) { return bits.param ? "Eight" : "Floats"; });

// Regression: the search divided by the number of images.
TEST(SmallestPlanOf, NoImagesIsAPlan) {
  cpu::RegisterDevice();
  testing::GraphMaker maker;
  int x = maker.Input("x", {0, 3, 8, 8});
  for (int i = 0; i < 3; ++i) x = maker.Add<Elemwise>({ScalarFunction::kSqrt}, {x});
  maker.Output(x);
  PlanRequest request;
  request.target.budget = MemoryBudget{};
  EXPECT_EQ(Value(PlanGraph(std::move(maker).Build(), request))->plan.plan.arena, 0);
}

TEST_P(SmallestPlan, IsNoLargerThanAnySpecMakesIt) {
  cpu::RegisterDevice();
  int larger = 0, in_tiles = 0;
  std::vector<int> seeds(static_cast<size_t>(RandomCases(GetParam())));
  std::iota(seeds.begin(), seeds.end(), 0);
  // Regression: two seeds needed two segments of one image, or a single one that others seemed to
  // beat. In 8 bits, one needed a split batch that ends before bytes are converted to floats.
  if (testing::LongTests()) {
    seeds.insert(seeds.end(), GetParam() ? std::initializer_list<int>{100}
                                         : std::initializer_list<int>{116, 185});
  }
  for (const int seed : seeds) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    Graph graph = RandomImageGraph(random, /*joins=*/seed % 2 == 1, 20);
    PlanRequest request = Request();
    if (GetParam()) {
      // A graph without a convolution has no 8-bit operators.
      absl::StatusOr<Graph> twin = EightBitTwin(graph, request.target);
      if (!twin.ok()) continue;
      graph = *std::move(twin);
    }
    request.target.budget.emplace();
    const int64_t smallest = ArenaOf(graph, request);

    PlanRequest tiled = Request();
    tiled.planning.kernels.low_workspace = true;
    tiled.planning.planner.limits.work = 100'000;  // for each of thousands of plans
    const RewrittenGraph rewritten =
        Value(RewriteGraph(Graph(graph), tiled.target, tiled.planning, {.tiled = true}));
    int64_t least = std::numeric_limits<int64_t>::max();
    std::string best;
    for (const TileSpec& spec : Specs(rewritten.graph).All()) {
      if (!spec.empty() && BoundOf(rewritten.graph, spec) >= least) continue;
      tiled.target.tiles = spec;
      const int64_t arena = ArenaOf(graph, tiled);
      if (arena >= least) continue;
      least = arena;
      best = spec.ToString();
    }
    EXPECT_LE(smallest, least) << "seed " << seed << ", of " << best;
    larger += smallest > least;
    in_tiles += !best.empty();
  }
  if (seeds.size() >= 6) {  // some graphs have no better tiles, or no 8-bit operators
    EXPECT_GT(in_tiles, static_cast<int>(seeds.size()) / 3) << "there was something to look for";
  }
  RecordProperty("larger", larger);
}

}  // namespace
}  // namespace ashlar
