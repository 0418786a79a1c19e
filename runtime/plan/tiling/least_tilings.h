// Searches for the tilings with the smallest arenas. Exact dynamic programming over the cuts of
// the graph finds the segments whose largest arena is smallest; among equals the path that
// recomputes least, then the fastest.
//
// Segments are evaluated as late as possible. As long as a path may be smaller than the smallest
// that is known, if its segments without an evaluation needed their estimates
// (segment_estimates.h), these are evaluated, the most promising path first. A segment that was
// evaluated needs its live bytes. Segments of the smallest path are placed: then each needs the
// arena that it has by itself.
//
// Strips of which operators compute rows again, perhaps in tiles that divide the columns, have
// estimates of their bytes and operations (again_trials.h), which are near what an evaluation finds
// if images are stored pixel by pixel. Paths to a cut are kept apart by the operations that they
// compute again.
//
// The work is counted, in operators of tiled segments.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_LEAST_TILINGS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_LEAST_TILINGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/plan/tiling/segment_estimates.h"
#include "runtime/plan/tiling/tiling_paths.h"
#include "runtime/plan/tiling/tiling_ways.h"

namespace ashlar {

class LeastTilings {
 public:
  // `work`: of the search, as a multiple of the usual.
  explicit LeastTilings(const TilingProblem& problem, double work = 1);

  // Returns tilings that recompute at most `max_extra_flops` and are expected to need less than
  // `below` bytes, the smallest first. The next call uses the evaluations of this one.
  std::vector<Tiling> Find(double max_extra_flops, int64_t below);

 private:
  // The batch in `parts` slices up to cut `last`, and the rest for all images.
  struct Split {
    int64_t parts = 1;
    size_t last = 0;
    int64_t waiting = 0;  // bytes
  };
  // A tiling: the path of one slice, and of the rest.
  struct Found {
    Split split;
    TilingPath part, rest;
    int64_t bytes = 0, live_bytes = 0;
    double extra_flops = 0, ms = 0;
  };
  // Candidates for a segment: strips that keep rows, and tiles that recompute.
  enum class Hope { kLines, kTiles };
  // Two cuts, the number of images, and the candidates.
  using Tried = std::tuple<size_t, size_t, int64_t, Hope>;

  void FindSplits();
  const std::vector<const TilingWay*>& Between(size_t first, size_t last, int64_t images);
  std::vector<int64_t> ValuesOf(const Split& split);
  // The choice among tilings that recompute equally little.
  enum class Prefer {
    kFast,
    kRoomy,  // small segments, so that the largest is placed more easily
    kLines,  // the same, none in rolling lines, which take more buffers
  };
  std::optional<Found> Within(const Split& split, int64_t bytes, double max_extra_flops,
                              Prefer prefer = Prefer::kFast);
  static std::optional<TilingPath> Cheapest(const std::vector<const TilingWay*>& ways, size_t first,
                                            size_t last, int64_t bytes, Prefer prefer);
  void AddNear(double max_extra_flops, int64_t below, std::vector<Tiling>& tilings);
  std::optional<Found> LeastOf(const Split& split, double max_extra_flops);
  std::optional<Found> Least(double max_extra_flops);
  static std::vector<const TilingWay*> Unplaced(const Found& found);
  bool Place(const Found& found, double max_extra_flops);
  bool PlaceAgain(const Found& found);
  static std::vector<Hope> HopesWithin(double max_extra_flops);
  // Strips of which operators compute rows again, perhaps in tiles that divide the columns: each
  // has its own estimate.
  struct AgainHope {
    AgainTrial trial;
    int64_t bytes = 0;
    bool tried = false;
  };
  std::vector<AgainHope>& AgainHopes(size_t i, size_t j, int64_t images);
  // Which candidates may need less.
  struct HopeRule {
    bool skips = false;                // estimates count the rows of skips (SegmentEstimates)
    bool parts_of_rows = false;        // grids whose tiles read less than a row may, too
    const TilingWay* given = nullptr;  // an evaluated segment that counts as one
  };
  std::optional<int64_t> EstimateBelow(int64_t bytes, size_t i, size_t j, int64_t images, Hope hope,
                                       const HopeRule& rule);
  std::vector<TilingTrial> TrialsOf(size_t i, size_t j, int64_t images, Hope hope,
                                    bool lines) const;
  bool TryHopeful(const Split& split, int64_t below, double max_extra_flops, const HopeRule& rule);
  // The candidates on a path, and what they are the trials of.
  struct Hopeful {
    std::vector<TilingTrial> trials;
    std::vector<Tried> tried;
    std::vector<AgainHope*> again;
  };
  std::optional<Hopeful> FindHopeful(const Split& split, int64_t below, double max_extra_flops,
                                     const HopeRule& rule);
  void Mark(const Hopeful& hopeful);
  const TilingWay* LargestOf(const Found& found) const;
  bool Refine(const Found& found, double max_extra_flops);
  void Try(std::vector<TilingTrial> trials, absl::Span<const TilingTrial> next = {});
  Tiling Made(const Found& found) const;

  const TilingProblem problem_;
  const double work_;
  TilingWays ways_;
  std::optional<SegmentEstimates> estimates_;
  std::vector<Split> splits_;
  std::set<Tried> tried_;
  std::map<TilingWays::Ends, std::vector<AgainHope>> again_hopes_;
  // Refinements that recompute, for the first limit above 0.
  std::map<TilingWays::Ends, std::vector<TilingTrial>> later_;
  std::map<TilingWays::Ends, std::vector<const TilingWay*>> between_;  // until more are evaluated
  int64_t operators_ = 0;  // of the tiled segments that this call of Find evaluated
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_LEAST_TILINGS_H_
