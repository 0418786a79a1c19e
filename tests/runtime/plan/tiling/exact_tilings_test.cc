// Exact peaks of tilings, compared with a count of the storages that live at each node.
#include "runtime/plan/tiling/exact_tilings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

// Returns the largest sum of storages in the arena that live while a node runs, in the nodes'
// order.
int64_t CountedPeak(const Graph& graph, const StorageModel& model) {
  int64_t peak = 0;
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
    if (!model.scheduled[node]) continue;
    int64_t live = 0;
    for (const Storage& storage : model.storages) {
      int last = storage.producer;
      for (const int reader : storage.readers) last = std::max(last, reader);
      if (storage.pool == Pool::kArena && storage.producer <= node && node <= last) {
        live += storage.bytes;
      }
    }
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(ExactTilingsTest, PeaksAreTheBytesThatLiveTogether) {
  // Without overwriting and placements, each storage lives from its node to its last reader.
  const ArenaModel arena{{.inplace = false}, [](const Graph& graph, const StorageModel&) {
                           return std::vector<int64_t>(graph.nodes().size(), 0);
                         }};
  int tiled = 0, refused = 0, costly = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph = testing::RandomImageGraph(random, /*joins=*/seed % 2 == 1);
    std::vector<TileSpec> specs = {testing::RandomTiles(random, graph),
                                   testing::RandomTiles(random, graph),
                                   testing::Value(TileSpec::Parse("700-800:rows2"))};
    const std::vector<int> order = testing::NodesInOrder(graph);
    const std::vector<Tiling> found = ExactTilings({graph, order, {}, arena}, specs);
    size_t next = 0;
    for (const TileSpec& spec : specs) {
      const absl::StatusOr<Graph> made = Tile(graph, spec, order, Operators());
      refused += !made.ok();
      if (!made.ok()) continue;
      ++tiled;
      ASSERT_LT(next, found.size());
      const Tiling& tiling = found[next++];
      EXPECT_EQ(tiling.spec, spec);
      EXPECT_GE(tiling.extra_flops, 0);
      if (spec.Has(TileKind::kRolling)) continue;  // parts of storages die earlier
      EXPECT_EQ(tiling.arena_bytes, CountedPeak(*made, BuildStorageModel(*made, arena.storage)))
          << spec.ToString();
    }
    EXPECT_EQ(next, found.size());
    // A limit leaves out the tilings above it, and no others.
    const std::vector<Tiling> cheap = ExactTilings({graph, order, {}, arena, 0.0}, specs);
    const auto allowed = std::count_if(found.begin(), found.end(),
                                       [](const Tiling& t) { return t.extra_flops == 0; });
    EXPECT_EQ(static_cast<int64_t>(cheap.size()), allowed);
    costly += found.size() > cheap.size();
  }
  EXPECT_GE(tiled, 40);
  EXPECT_GE(refused, 30);
  EXPECT_GT(costly, 0);
}

}  // namespace
}  // namespace ashlar
