// The search for tiles. It returns tilings of a graph of which none is both slower and larger than
// another.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_SEARCH_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling/tiling_paths.h"
#include "runtime/plan/tiling/tiling_ways.h"

namespace ashlar {

struct FoundTilings {
  // The Pareto-optimal tilings of all that were tried, the untiled graph included: none is slower
  // than another without being noticeably smaller. The fastest, which is the largest, first.
  std::vector<Tiling> best;
  // All tilings that are nearly as small as the smallest, the smallest first. Planning them finds
  // the smallest plan.
  std::vector<Tiling> smallest;
};

// A search for tilings. A tiling splits the batch up to some cut (GraphCut) or not at all. Cuts are
// the boundaries of segments, found by dynamic programming: each segment stays whole, or is
// executed in lines, rows or a grid of tiles.
class TilingSearch {
 public:
  explicit TilingSearch(const TilingProblem& problem) : problem_(problem), ways_(problem) {}

  // Searches between few cuts. Call once.
  void Search();
  const FoundTilings& found() const { return found_; }

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
                               const std::optional<TileSegment>& batch);
  TilingPaths PathsBetween(size_t first, size_t last, int64_t images);
  void Add(const TilingPath& path, int64_t parts, size_t last, int64_t waiting,
           const TilingPath& rest);
  std::vector<Tiling> Smallest() const;

  const TilingProblem problem_;
  TilingWays ways_;
  bool few_ = false;             // kFewOperators
  std::vector<size_t> small_;    // cuts that are not larger than their neighbours
  std::vector<size_t> first_;    // the subset of these that segments are first tried between
  std::vector<Tiling> tilings_;  // the untiled graph, and all tilings that were tried
  FoundTilings found_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_SEARCH_H_
