// The search for tiles: rewrites of a graph of which none is both slower and larger than another.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling_paths.h"
#include "runtime/plan/tiling_ways.h"

namespace ashlar {

// A rewrite and its estimate, without alignment, which plans have.
struct Tiling {
  TileSpec spec;
  int64_t arena_bytes = 0;
  double ms = 0;
  double extra_flops = 0;  // computed again, over all of the graph before
};

struct FoundTilings {
  // Of all that were looked at, among them the graph as it is: none is slower than another without
  // being noticeably smaller; the fastest first, and the largest.
  std::vector<Tiling> best;
  // All that are nearly as small as the smallest, the smallest first: which of them has the
  // smallest plan only plans tell.
  std::vector<Tiling> smallest;
  // The smallest between all cuts, the smallest first (TilingSearch::LookForSmaller).
  std::vector<Tiling> moved;
  // What they are made of, and what else was tried: the ids of operators that make the tensors
  // between segments, in their order, and ways between them.
  std::vector<int> cuts;
  std::vector<TilingWay> ways;
};

// A tiling splits the batch up to some cut (GraphCut) or not at all; inside, the cuts are ends of
// segments, found by dynamic programming: each stays whole, or is executed in lines, rows or a grid
// of tiles.
class TilingSearch {
 public:
  // Searches between few cuts.
  explicit TilingSearch(const TilingProblem& problem);

  const FoundTilings& found() const { return found_; }
  // Goes on between all cuts, for who wants the least; once.
  void LookForSmaller();

 private:
  void ChooseFirst();
  void TrySegments();
  bool TryAroundBottleneck();
  void TryAllParts();
  void TryParts(int64_t parts);
  void RefineUsed(const std::vector<Tiling>& tilings);
  void TryExactly();
  std::vector<const TilingWay*> SegmentsWithin(size_t first, size_t last, int64_t images) const;
  std::vector<Tiling> Extended(const std::vector<const TilingWay*>& segments,
                               const std::optional<TileSegment>& batch) const;
  TilingPaths PathsBetween(size_t first, size_t last, int64_t images);
  void Add(const TilingPath& path, int64_t parts, size_t last, int64_t waiting,
           const TilingPath& rest);
  std::vector<Tiling> Smallest() const;

  const TilingProblem problem_;
  TilingWays ways_;
  bool few_ = false;             // kFewOperators
  std::vector<size_t> small_;    // cuts that are no larger than their neighbours
  std::vector<size_t> first_;    // of these: between which segments are tried first
  std::vector<Tiling> tilings_;  // the graph as it is, and all that were looked at
  FoundTilings found_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SEARCH_H_
