// The smallest budget that would do, against a search that tries tile specs one after the other.
// ASHLAR_RANDOM_CASES=200 tries more graphs than a usual run of the tests does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/graph_cuts.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/rewrite.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::NodesInOrder;
using testing::RandomImageGraph;
using testing::Value;

int RandomCases() {
  const char* const text = std::getenv("ASHLAR_RANDOM_CASES");
  return text == nullptr ? 6 : std::atoi(text);
}

PlanRequest Request() {
  PlanRequest request;
  request.wishes.processor = Value(Processor::Parse("avx512/32K/1M"));
  return request;
}

class Specs {
 public:
  explicit Specs(const Graph& graph) : graph_(graph), cuts_(FindCuts(graph, NodesInOrder(graph))) {}

  // The graph as it is; one segment between any two cuts, or two that follow each other, in lines
  // or rows.
  std::vector<TileSpec> All() const {
    std::vector<TileSpec> specs = {{}};
    for (size_t j = 1; j < cuts_.size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        for (const TileSegment& first : Between(i, j)) {
          specs.push_back({{first}});
          for (size_t k = j + 1; k < cuts_.size(); ++k) {
            for (const TileSegment& second : Between(j, k)) specs.push_back({{first, second}});
          }
        }
      }
    }
    return specs;
  }

 private:
  int Id(size_t cut) const { return graph_.node(graph_.var(cuts_[cut].var).producer).id; }
  int64_t Rows(size_t cut) const {
    const Shape& shape = graph_.var(cuts_[cut].var).type.shape;
    return shape.rank() == 4 ? shape[2] : 0;
  }
  std::vector<TileSegment> Between(size_t i, size_t j) const {
    std::vector<TileSegment> segments;
    for (const int64_t strips : {Rows(i) / 2, Rows(i)}) {
      if (strips > 1) segments.push_back({Id(i), Id(j), TileKind::kLines, strips, 1, {}});
    }
    if (Rows(j) >= 2) segments.push_back({Id(i), Id(j), TileKind::kRows, 2, 1, {}});
    return segments;
  }

  const Graph& graph_;
  const std::vector<GraphCut> cuts_;
};

int64_t ArenaOf(const Graph& graph, const PlanRequest& request) {
  const auto planned = PlanGraph(Graph(graph), request);
  return planned.ok() ? (*planned)->plan.plan.arena : std::numeric_limits<int64_t>::max();
}

TEST(SmallestPlan, IsNoLargerThanAnySpecMakesIt) {
  cpu::RegisterDevice();
  int larger = 0, in_tiles = 0;
  for (int seed = 0; seed < RandomCases(); ++seed) {
    std::mt19937_64 random(seed);
    const Graph graph = RandomImageGraph(random, /*joins=*/seed % 2 == 1, 20);
    PlanRequest request = Request();
    request.wishes.budget.emplace();
    const int64_t smallest = ArenaOf(graph, request);

    PlanRequest tiled = Request();
    tiled.means.kernels.least_memory = true;
    tiled.means.planner.limits.work = 100'000;  // of thousands of plans each
    const RewrittenGraph rewritten =
        Value(RewriteGraph(Graph(graph), tiled.wishes, tiled.means, {.tiled = true}));
    int64_t least = std::numeric_limits<int64_t>::max();
    std::string best;
    for (const TileSpec& spec : Specs(rewritten.graph).All()) {
      tiled.wishes.tiles = spec;
      const int64_t arena = ArenaOf(graph, tiled);
      if (arena >= least) continue;
      least = arena;
      best = spec.ToString();
    }
    EXPECT_LE(smallest, least) << "seed " << seed << ", of " << best;
    larger += smallest > least;
    in_tiles += !best.empty();
  }
  EXPECT_GT(in_tiles, RandomCases() / 2) << "there was something to look for";
  RecordProperty("larger", larger);
}

}  // namespace
}  // namespace ashlar
