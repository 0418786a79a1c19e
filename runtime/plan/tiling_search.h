// The search for tiles: the fastest rewrite of a graph whose arena fits a budget.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
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
  // Whether segments of the smallest tiling are tried between other cuts: for who wants the least.
  bool move_borders = false;
  bool ebb = false;  // whether lines are tried as those that ebb, too (TileKind::kEbb)
};

// How tiled operators share memory, and the workspace that they need at least: bytes by node. Asked
// in several threads at once.
struct ArenaModel {
  StorageOptions storage;  // of the graph as it is
  std::function<std::vector<int64_t>(const Graph&, const StorageModel&)> workspace;
};

// The same in tiles.
StorageOptions StorageFor(const TileSpec& spec, const StorageOptions& whole);

// One way to execute what lies between two cuts.
struct TilingWay {
  size_t begin = 0, end = 0;           // of FoundTilings::cuts
  int64_t images = 1;                  // at once
  std::optional<TileSegment> segment;  // none: as it is
  int64_t bytes = 0;                   // peak
  double ms = 0;
  double extra_flops = 0;  // as in Tiling, once
};

struct FoundTilings {
  // Of all that were looked at, among them the graph as it is: none is slower than another without
  // being noticeably smaller; the fastest first, and the largest.
  std::vector<Tiling> best;
  // All that are nearly as small as the smallest, the smallest first: which of them has the
  // smallest plan only plans tell.
  std::vector<Tiling> smallest;
  // With TilingLimits::move_borders the smallest that this found, the smallest first.
  std::vector<Tiling> moved;
  // What they are made of, and what else was tried: the ids of operators that make the tensors
  // between segments, in their order, and ways between them.
  std::vector<int> cuts;
  std::vector<TilingWay> ways;
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
