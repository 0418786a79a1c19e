// The search for tiles: the fastest rewrite of a graph whose arena fits a budget.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/time_estimate.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// A rewrite and its estimate, without alignment, which plans have.
struct Tiling {
  TileSpec spec;
  int64_t arena_bytes = 0;
  double ms = 0;
  double extra_flops = 0;  // computed again, over all of the graph before
};

struct TilingLimits {
  double max_extra_flops = std::numeric_limits<double>::infinity();  // a ratio
};

// How tiled operators share memory, and the workspace that they need at least: bytes by node. Asked
// in several threads at once.
struct ArenaModel {
  StorageOptions storage;
  std::function<std::vector<int64_t>(const Graph&, const StorageModel&)> workspace;
};

struct FoundTilings {
  // Of all that were looked at, among them the graph as it is: none is slower than another without
  // being noticeably smaller; the fastest first, and the largest.
  std::vector<Tiling> best;
  // All that are nearly as small as the smallest, the smallest first: which of them has the
  // smallest plan only plans tell.
  std::vector<Tiling> smallest;
};

// `order`: of the graph as it is, producers first.
//
// A tiling splits the batch up to some cut (GraphCut) or not at all; inside, the cuts are ends of
// segments, found by dynamic programming: each stays whole, or is executed in lines, rows or a grid
// of tiles.
absl::StatusOr<FoundTilings> SearchTilings(const Graph& graph, absl::Span<const int> order,
                                           const TilingLimits& limits, const ProcessorSpeed& speed,
                                           const ArenaModel& arena);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_
