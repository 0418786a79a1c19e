// Cuts and segments at several tensors, on random networks with skips.
#include <gtest/gtest.h>

#include <set>

#include "graph/tiling/tile.h"
#include "graph/tiling/tile_segment.h"
#include "opr/table.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "tests/support/shapes.h"
#include "tests/support/skip_networks.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::MakeSkipNetwork;
using testing::NodesInOrder;
using testing::Value;

// The vars that are made up to a position of the order, and that computing nodes read later.
std::set<int> NeededAfter(const Graph& graph, int position) {
  std::set<int> vars;
  for (int reader = position + 1; reader < static_cast<int>(graph.nodes().size()); ++reader) {
    if (graph.node(reader).op->role() != Role::kCompute) continue;
    for (const int var : graph.node(reader).inputs) {
      const int producer = graph.var(var).producer;
      if (producer <= position && graph.node(producer).op->role() != Role::kConstant) {
        vars.insert(var);
      }
    }
  }
  return vars;
}

TEST(WideCutsTest, CutsHaveAllThatIsReadLaterAndSegmentsAllBetween) {
  size_t wide = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = MakeSkipNetwork(random, testing::RandomSkipNetwork(random));
    const std::vector<int> order = NodesInOrder(graph);
    const std::vector<GraphCut> cuts = FindWideCuts(graph, order);
    ASSERT_GE(cuts.size(), 2u);
    for (size_t i = 0; i < cuts.size(); ++i) {
      const std::vector<int> vars = cuts[i].vars();
      if (i + 1 < cuts.size()) {
        EXPECT_EQ(std::set<int>(vars.begin(), vars.end()), NeededAfter(graph, cuts[i].position));
      }
      wide += vars.size() > 1;
      for (size_t j = i + 1; j < cuts.size(); ++j) {
        TileSegment segment = SegmentBetween(graph, order, cuts[i], cuts[j]);
        segment.kind = TileKind::kLines;
        std::vector<int> between;
        for (int node = cuts[i].position + 1; node <= cuts[j].position; ++node) {
          if (graph.node(node).op->role() == Role::kCompute) between.push_back(node);
        }
        const TileItems found = Value(FindSegments(graph, {segment}, order));
        EXPECT_EQ(found.segments[0].nodes, between) << segment.Ends();
        const Graph part = Value(GraphBetween(graph, order, cuts[i], cuts[j], 1));
        EXPECT_EQ(part.inputs().size(), vars.size());
        EXPECT_EQ(CountOperators(part), static_cast<int>(between.size()));
      }
    }
  }
  EXPECT_GT(wide, 60u);
}

TEST(WideCutsTest, SegmentsBetweenAnyCutsComputeTheSameBits) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    testing::SkipNetwork network = testing::RandomSkipNetwork(random);
    network.rows = 2 << network.levels;
    const Graph graph = MakeSkipNetwork(random, network);
    const std::vector<int> order = NodesInOrder(graph);
    const std::vector<GraphCut> cuts = FindWideCuts(graph, order);
    // Two segments, one after the other.
    const auto last = static_cast<int64_t>(cuts.size()) - 1;
    const int64_t middle = testing::Pick(random, 1, last);
    TileSpec spec;
    for (const auto& [i, j] : {std::pair<int64_t, int64_t>{0, middle}, {middle, last}}) {
      if (i == j) continue;
      TileSegment segment = SegmentBetween(graph, order, cuts[i], cuts[j]);
      segment.kind = testing::Pick(random, 0, 1) == 1 ? TileKind::kLines : TileKind::kRolling;
      segment.count = testing::Pick(random, 2, 4);
      spec.segments.push_back(segment);
    }
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " tiles " << spec.ToString());
    const Graph tiled = Value(Tile(graph, spec, order, Operators()));
    const HostTensor input =
        testing::RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
    const std::vector<HostTensor> expected = Value(testing::Evaluate(graph, input));
    const std::vector<HostTensor> actual = Value(testing::Evaluate(tiled, input));
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(testing::CountDifferences(expected[i], actual[i]), 0);
    }
  }
}

}  // namespace
}  // namespace ashlar
