// Ways to execute what lies between two cuts of a graph, and what they are expected to need.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_WAYS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_WAYS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/graph_cuts.h"
#include "runtime/plan/tiling_trials.h"
#include "runtime/plan/time_estimate.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// How tiled operators share memory, and the workspace that they need at least: bytes by node. Asked
// in several threads at once.
struct ArenaModel {
  StorageOptions storage;  // of the graph as it is
  std::function<std::vector<int64_t>(const Graph&, const StorageModel&)> workspace;
};

// The same in tiles.
StorageOptions StorageFor(const TileSpec& spec, const StorageOptions& whole);

// What is to be tiled, for whom. All that it names must outlive its users.
struct TilingProblem {
  const Graph& graph;
  absl::Span<const int> order;  // of the graph as it is, producers first
  ProcessorSpeed speed;
  const ArenaModel& arena;
  double max_extra_flops = std::numeric_limits<double>::infinity();  // as in TilingWay
  bool ebb = false;  // whether lines are tried as those that ebb, too (TileKind::kEbb)
  std::stop_token stop = {};
};

// One way to execute what lies between two cuts.
struct TilingWay {
  size_t begin = 0, end = 0;           // of the cuts
  int64_t images = 1;                  // at once
  std::optional<TileSegment> segment;  // none: as it is
  int64_t bytes = 0;                   // peak
  double ms = 0;
  double extra_flops = 0;  // computed again, over all of the graph before
};

// Those that were looked at, until now.
class TilingWays {
 public:
  // Two cuts, and images at once.
  using Ends = std::tuple<size_t, size_t, int64_t>;

  explicit TilingWays(const TilingProblem& problem);

  // Ends of ways, in the order of execution; fewer than two where nothing can be tiled.
  const std::vector<GraphCut>& cuts() const { return cuts_; }
  // Of the graph's input.
  int64_t images() const { return images_; }
  int IdOf(size_t cut) const { return ashlar::IdOf(problem_.graph, cuts_[cut]); }
  int64_t BytesOf(size_t cut) const { return problem_.graph.var(cuts_[cut].var).type.bytes(); }
  // What may be computed again of so many images, as often as the batch has them.
  double MostExtraFlops(int64_t images) const {
    return problem_.max_extra_flops / static_cast<double>(images_ / images);
  }
  // In the arena: the caller's tensors are not.
  int64_t ArenaBytesOf(size_t cut) const;
  // With the batch in `parts` up to a cut: what was made waits for the last of them and, of an
  // input that was given up, what is still to be read for the first.
  int64_t WaitingBytes(int64_t parts, size_t last) const;
  // Of the graph as it is, of one image.
  int64_t AsItIsPeak(size_t first, size_t last);
  // Whether every operator up to a cut makes a part of the batch from a part of its inputs: one
  // that does not, or that has several outputs, ends what is executed in parts.
  bool SplitsBatch(size_t last);

  // Looks at the worth of segments.
  void Try(absl::Span<const TilingTrial> trials);
  // Another look at all between two cuts, a first one where there was none; nothing the next time.
  std::vector<TilingTrial> Refinements(const Ends& ends);

  // The nodes between a cut and the next as they are.
  const TilingWay& Whole(size_t cut, int64_t images);
  // Segments, by their ends.
  const std::map<Ends, std::vector<TilingWay>>& segments() const { return segments_; }
  // Between cuts from `first` to `last`, by their ends.
  std::vector<const TilingWay*> Between(size_t first, size_t last, int64_t images);
  // All that are known.
  std::vector<TilingWay> All() const;
  // Lets go of them, which of large graphs are some megabytes.
  void Forget();

 private:
  bool IsInput(const GraphCut& cut) const;
  bool IsOutput(const GraphCut& cut) const;
  int64_t PeakOf(const Graph& part, const GraphCut& from, const GraphCut& to, int64_t images,
                 const TileSpec& tiles) const;
  TilingWay AsItIs(const GraphCut& from, const GraphCut& to, int64_t images) const;
  std::optional<TilingWay> Tiled(const TilingTrial& trial) const;

  const TilingProblem problem_;
  const StorageModel model_;
  const std::vector<GraphCut> cuts_;
  const double flops_;
  int64_t images_ = 1;
  std::map<Ends, std::vector<TilingWay>> segments_;
  std::set<Ends> refined_;
  std::map<std::pair<size_t, int64_t>, TilingWay> whole_;  // by cut and images
  std::map<size_t, bool> splits_batch_;                    // by cut
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_WAYS_H_
