// Options (ways) to execute the nodes between two cuts of a graph, with their estimated peak and
// time.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_WAYS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_WAYS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "memory/planner.h"
#include "runtime/plan/stages/time_estimate.h"
#include "runtime/plan/tiling/again_trials.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "runtime/plan/tiling/segment_keys.h"
#include "runtime/plan/tiling/tiling_costs.h"
#include "runtime/plan/tiling/tiling_trials.h"
#include "runtime/schedule/storage.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// How tiled operators share memory, and their least workspaces: bytes by node. Several threads call
// `workspace` at once.
struct ArenaModel {
  StorageOptions storage;  // of the untiled graph
  std::function<std::vector<int64_t>(const Graph&, const StorageModel&)> workspace;
};

// Returns the same for the tiled graph.
StorageOptions StorageFor(const TileSpec& spec, const StorageOptions& whole);

// The graph to tile, and the limits. All that it refers to must outlive its users.
struct TilingProblem {
  const Graph& graph;
  absl::Span<const int> order;  // of the untiled graph, producers first
  ProcessorSpeed speed;
  const ArenaModel& arena;
  double max_extra_flops = std::numeric_limits<double>::infinity();  // as in TilingWay
  bool rolling =
      false;  // whether rolling lines with early release (TileKind::kRolling) are tried as well
  std::stop_token stop = {};
  // Shared by searches of this graph, and perhaps of its other rewrites.
  std::shared_ptr<TilingCosts> costs = std::make_shared<TilingCosts>();
  // For the arenas of single segments (TilingWays::Place).
  int64_t alignment = 1;
  memory::PlanOptions planner = {};
  bool adds_quantized = true;  // Tile
};

// A tiling and its estimate. The estimate ignores alignment, unlike plans.
struct Tiling {
  TileSpec spec;
  int64_t arena_bytes = 0;
  double ms = 0;
  double extra_flops = 0;  // recomputed FLOPs, over all of the untiled graph
  int64_t live_bytes = 0;  // peak, if `arena_bytes` is an arena (LeastTilings)
};

// One option to execute the nodes between two cuts.
struct TilingWay {
  size_t begin = 0, end = 0;           // indices of the cuts
  int64_t images = 1;                  // executed together
  std::optional<TileSegment> segment;  // none: untiled
  int64_t bytes = 0;                   // peak
  double ms = 0;
  double extra_flops = 0;  // recomputed FLOPs, over all of the untiled graph
  int64_t placed = -1;     // the arena by itself; -1: not placed
  int64_t ahead = -1;      // the last placed arena, perhaps ahead of `placed`; -1: none
  int depth = 0;           // how often it was placed, each time with more work
};

// The options evaluated so far.
class TilingWays {
 public:
  // Two cuts, and the number of images executed together.
  using Ends = std::tuple<size_t, size_t, int64_t>;

  explicit TilingWays(const TilingProblem& problem);

  // Boundaries of options, in the order of execution; fewer than two if nothing can be tiled.
  const std::vector<GraphCut>& cuts() const { return cuts_; }
  // Images in the graph's input.
  int64_t images() const { return images_; }
  // Returns the segment between two cuts, in tiles of this kind.
  TileSegment SegmentBetween(size_t i, size_t j, TileKind kind, int64_t count,
                             int64_t count_width = 1) const;
  int64_t BytesOf(size_t cut) const;
  // Returns the limit of recomputed FLOPs for one group of `images`, of which the batch has
  // several.
  double MostExtraFlops(int64_t images) const {
    return problem_.max_extra_flops / static_cast<double>(images_ / images);
  }
  // Bytes of a cut's tensors in the arena: 0 for the caller's.
  int64_t ArenaBytesOf(size_t cut) const;
  // Bytes that wait while the batch runs in `parts` slices up to cut `last`: outputs of finished
  // slices, or the rest of a donated input.
  int64_t WaitingBytes(int64_t parts, size_t last) const;
  // Peak of the untiled graph between two cuts, for one image.
  int64_t AsItIsPeak(size_t first, size_t last);
  // Returns whether every operator up to a cut computes a slice of the batch from slices of its
  // inputs. An operator that does not, or that has several outputs, ends the range that can be
  // split.
  bool SplitsBatch(size_t last);

  // Computes the arenas of options (TilingWay::placed): with little work at first, with four times
  // as much each time after that. None becomes larger. `next`: options that are probably placed
  // next, for the first time; cores that would wait compute these ahead.
  void Place(absl::Span<const TilingWay* const> ways, absl::Span<const TilingWay* const> next = {});
  // Calls `function` while these options, which are not placed, count as larger than all others.
  void Without(absl::Span<const TilingWay* const> ways, absl::FunctionRef<void()> function);
  // Returns whether a segment can have so many tiles.
  bool Fits(const TilingTrial& trial) const;
  // Evaluates candidate segments. `next`: candidates that are probably next; cores that would wait
  // find their costs ahead (TilingProblem::costs).
  void Try(absl::Span<const TilingTrial> trials, absl::Span<const TilingTrial> next = {});
  // Returns further candidates between two cuts; at the first call for new ends also the first
  // candidate. Returns nothing for ends that were refined before.
  std::vector<TilingTrial> Refinements(const Ends& ends);
  // Returns segments between two cuts in strips of which operators compute rows again (AgainTrials)
  // with estimates for all `images`; AgainTrial::flops is over all of the untiled graph.
  std::vector<AgainTrial> AgainTrialsOf(size_t i, size_t j, int64_t images,
                                        bool with_columns) const;
  // Returns one of these as a candidate.
  TilingTrial TrialOf(const AgainTrial& again, size_t i, size_t j, int64_t images) const;

  // Returns the untiled option from a cut to the next.
  const TilingWay& Whole(size_t cut, int64_t images);
  // Evaluated segments, by their ends.
  const std::map<Ends, std::vector<TilingWay>>& segments() const { return segments_; }
  // Returns the largest peak of the untiled options that lie in none of these segments: tilings of
  // the whole batch with these segments alone need at least as much.
  int64_t LargestOutside(absl::Span<const TilingWay* const> segments);
  // Returns all options between cuts `first` and `last`, by their ends.
  std::vector<const TilingWay*> Between(size_t first, size_t last, int64_t images);
  // Returns all known options.
  std::vector<TilingWay> All() const;

 private:
  bool IsInput(const GraphCut& cut) const;
  StorageModel ModelOf(const Graph& part, const GraphCut& from, const GraphCut& to, int64_t images,
                       const TileSpec& tiles) const;
  int64_t PeakOf(const Graph& part, const GraphCut& from, const GraphCut& to, int64_t images,
                 const TileSpec& tiles) const;
  // Returns a key of the nodes between two cuts, in tiles (TilingCosts).
  std::string KeyOf(size_t i, size_t j, int64_t images, const TileSpec& tiles) const;
  int64_t PlacedBytes(const TilingWay& way) const;
  int64_t ArenaOf(const TilingWay& way, const TileSpec& tiles) const;
  TilingWay& Mine(const TilingWay& way);
  TilingWay AsItIs(const GraphCut& from, const GraphCut& to, int64_t images) const;
  std::optional<TilingWay> Tiled(const TilingTrial& trial) const;
  std::optional<TilingCost> CostOf(const TilingTrial& trial, const TileSpec& tiles) const;

  const TilingProblem problem_;
  const StorageModel model_;
  const std::vector<GraphCut> cuts_;
  const double flops_;
  const SegmentKeys keys_;
  int64_t images_ = 1;
  std::map<Ends, std::vector<TilingWay>> segments_;
  std::set<Ends> refined_;
  std::map<std::pair<size_t, int64_t>, TilingWay> whole_;  // by cut and images
  std::map<size_t, bool> splits_batch_;                    // by cut
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_WAYS_H_
