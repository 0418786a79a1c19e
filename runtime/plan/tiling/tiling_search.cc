// Searches for tilings by the estimates of tiling_ways.h, without planning. For each split of the
// batch it runs dynamic programming over the cuts of the graph (tiling_paths.h). Segments are first
// tried between a few of the cuts.
#include "runtime/plan/tiling/tiling_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/exact_tilings.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

constexpr size_t kMaxCuts = 16;    // cuts that segments are first tried between
constexpr int kFewOperators = 24;  // limit for trying all kinds of tiles between all cuts
constexpr int kRefinements = 2;
constexpr int kBottlenecks = 16, kAround = 3;  // TryAroundBottleneck
constexpr size_t kExtended = 24;  // tilings of a small graph to which a second segment is added
constexpr size_t kKept = 192;     // limit on tilings with one segment
constexpr size_t kLookedAtTogether = 64;  // evaluated exactly at the same time
// Tilings that may have the smallest plan: estimates up to this multiple of the smallest.
constexpr double kNearlySmallest = 1.25;
// A slower tiling must be smaller by this factor.
constexpr double kWorthWhile = 0.97;

// Returns the Pareto-optimal tilings: none is slower than another without being noticeably smaller.
// The fastest, which is the largest, first.
std::vector<Tiling> BestOf(std::vector<Tiling> tilings) {
  std::stable_sort(tilings.begin(), tilings.end(), [](const Tiling& a, const Tiling& b) {
    return std::pair(a.ms, a.arena_bytes) < std::pair(b.ms, b.arena_bytes);
  });
  const auto smallest = std::min_element(
      tilings.begin(), tilings.end(),
      [](const Tiling& a, const Tiling& b) { return a.arena_bytes < b.arena_bytes; });
  std::vector<Tiling> best;
  for (Tiling& tiling : tilings) {
    const bool last = &tiling == &*smallest;
    const double most =
        best.empty() ? std::numeric_limits<double>::infinity()
                     : static_cast<double>(best.back().arena_bytes) * (last ? 1 : kWorthWhile);
    if (static_cast<double>(tiling.arena_bytes) < most) best.push_back(std::move(tiling));
  }
  return best;
}

// Returns whether two tilings differ only in the cut at which the batch is joined again. Then the
// plans differ by the tensors that wait there, which the estimate counts exactly.
bool AreTiledAlike(const TileSpec& a, const TileSpec& b) {
  const auto is_batch = [](const TileSpec& spec) {
    return spec.segments.size() == 1 && spec.segments[0].kind == TileKind::kBatch;
  };
  return is_batch(a) && is_batch(b) && a.segments[0].count == b.segments[0].count &&
         a.segments[0].inner == b.segments[0].inner;
}

}  // namespace

void TilingSearch::Search() {
  const Graph& graph = problem_.graph;
  const StorageModel model = BuildStorageModel(graph, problem_.arena.storage);
  Tiling whole;
  whole.arena_bytes =
      SimulatePeak(graph, model, problem_.order, problem_.arena.workspace(graph, model));
  whole.ms = EstimateTime(graph, model, problem_.speed);
  tilings_.push_back(whole);
  const std::vector<GraphCut>& cuts = ways_.cuts();
  if (cuts.size() >= 2) {
    few_ = CountOperators(graph) <= kFewOperators && cuts.size() <= kMaxCuts;
    ChooseFirst();
    TrySegments();
    if (few_) ways_.Try(TrialsOfAllKinds(graph, cuts, ways_.images(), problem_.rolling));
    if (few_ && graph.outputs().size() > 1) {
      ways_.Try(TrialsOfBranches(graph, cuts, ways_.images()));
    }
    for (int round = 0; !few_ && round < kBottlenecks && TryAroundBottleneck(); ++round) {
    }
    TryAllParts();
    // Segments that proved useful are tried with other numbers of strips.
    for (int round = 0; round < kRefinements; ++round) {
      std::vector<Tiling> useful = BestOf(tilings_);
      for (Tiling& tiling : Smallest()) useful.push_back(std::move(tiling));
      RefineUsed(useful);
      TryAllParts();
    }
  }
  if (few_) TryExactly();
  found_.best = BestOf(tilings_);
  found_.smallest = Smallest();
}

// Chooses cuts that are not larger than their neighbours: tensors between segments are stored
// whole, and should be small.
void TilingSearch::ChooseFirst() {
  const size_t cuts = ways_.cuts().size();
  for (size_t i = 0; i < cuts; ++i) {
    const bool end = i == 0 || i + 1 == cuts;
    if (end || few_ ||
        (ways_.BytesOf(i) <= ways_.BytesOf(i - 1) && ways_.BytesOf(i) <= ways_.BytesOf(i + 1))) {
      small_.push_back(i);
    }
  }
  const size_t count = std::min(small_.size(), kMaxCuts);
  for (size_t i = 0; i < count; ++i) {
    first_.push_back(small_[i * (small_.size() - 1) / std::max<size_t>(count - 1, 1)]);
  }
}

// Evaluates each segment between two of the first cuts, in strips.
void TilingSearch::TrySegments() {
  std::vector<TilingTrial> trials;
  for (const size_t j : first_) {
    for (const size_t i : first_) {
      if (i >= j) break;
      // Tiling does not help if the ends alone are as large as the peak between them.
      const int64_t ends = (ways_.ArenaBytesOf(i) + ways_.BytesOf(j)) / ways_.images();
      if (ends >= ways_.AsItIsPeak(i, j)) continue;
      trials.push_back(FirstTrial(problem_.graph, ways_.cuts(), i, j, 1));
    }
  }
  ways_.Try(trials);
}

// Tries segments around the largest step of the smallest path, if no segment covers it: between the
// nearest small cuts around it, which are not among the first cuts of a deep graph. Returns false
// if all of them were tried.
bool TilingSearch::TryAroundBottleneck() {
  const size_t end = ways_.cuts().size() - 1;
  const int64_t images = ways_.SplitsBatch(end) ? 1 : ways_.images();
  const TilingPath path = PathsBetween(0, end, images).Smallest();
  if (path.empty()) return false;
  const TilingWay& largest = **std::max_element(
      path.begin(), path.end(),
      [](const TilingWay* a, const TilingWay* b) { return a->bytes < b->bytes; });
  if (largest.segment) return false;
  const auto after = std::lower_bound(small_.begin(), small_.end(), largest.end);
  const auto before = std::upper_bound(small_.begin(), small_.end(), largest.begin);
  std::vector<TilingTrial> trials;
  for (auto j = after; j != small_.end() && j < after + kAround; ++j) {
    for (auto i = before; i != small_.begin() && i > before - kAround; --i) {
      for (TilingTrial& trial : ways_.Refinements({*(i - 1), *j, images})) {
        trials.push_back(std::move(trial));
      }
    }
  }
  ways_.Try(trials);
  return !trials.empty();
}

void TilingSearch::TryAllParts() {
  for (int64_t parts = 1; parts <= ways_.images(); ++parts) {
    if (ways_.images() % parts == 0) TryParts(parts);
  }
}

// Splits the batch into `parts` slices up to each cut in turn.
void TilingSearch::TryParts(int64_t parts) {
  const size_t end = ways_.cuts().size() - 1;
  for (const size_t last : first_) {
    if (last == 0 || (parts == 1 && last < end)) continue;
    if (parts > 1 && !ways_.SplitsBatch(last)) break;
    // The nodes after the cut, for all images.
    std::vector<TilingPath> rests = {{}};
    if (last < end) rests = PathsBetween(last, end, ways_.images()).Fastest();
    if (rests.empty() || PeakOf(rests[0]) > tilings_[0].arena_bytes) continue;
    const int64_t waiting = ways_.WaitingBytes(parts, last);
    const TilingPaths part = PathsBetween(0, last, ways_.images() / parts);
    const std::vector<TilingPath> paths = part.Fastest();
    for (const TilingPath& path : paths) {
      // The last that is not larger, otherwise the smallest.
      const auto rest =
          std::find_if(rests.rbegin(), std::prev(rests.rend()),
                       [&](const TilingPath& r) { return PeakOf(r) <= PeakOf(path) + waiting; });
      Add(path, parts, last, waiting, *rest);
    }
    if (paths.empty()) continue;
    for (const TilingPath& path : part.Roomy(PeakOf(paths[0]), 1e3 * (1 + tilings_[0].ms))) {
      Add(path, parts, last, waiting, rests[0]);
    }
  }
}

TilingPaths TilingSearch::PathsBetween(size_t first, size_t last, int64_t images) {
  return {first, last, ways_.Between(first, last, images), ways_.MostExtraFlops(images)};
}

// Adds a tiling: the batch in `parts` slices up to `last`, with `waiting` bytes waiting for the
// last slice, then `rest`.
void TilingSearch::Add(const TilingPath& path, int64_t parts, size_t last, int64_t waiting,
                       const TilingPath& rest) {
  if (path.empty()) return;
  Tiling tiling;
  const auto add = [&](const TilingPath& steps, int64_t times) {
    for (const TilingWay* way : steps) {
      if (way->segment) tiling.spec.segments.push_back(*way->segment);
      tiling.ms += way->ms * static_cast<double>(times);
      tiling.extra_flops += way->extra_flops * static_cast<double>(times);
    }
  };
  add(path, parts);
  if (parts > 1) {
    TileSegment batch = ways_.SegmentBetween(0, last, TileKind::kBatch, parts);
    batch.inner = std::move(tiling.spec.segments);
    tiling.spec.segments = {std::move(batch)};
  }
  add(rest, 1);
  tiling.arena_bytes = std::max(PeakOf(path) + waiting, PeakOf(rest));
  if (tiling.extra_flops <= problem_.max_extra_flops) tilings_.push_back(std::move(tiling));
}

// Evaluates the segments of these tilings with other numbers of tiles, each once.
void TilingSearch::RefineUsed(const std::vector<Tiling>& tilings) {
  std::set<std::string> used;  // ends
  for (const Tiling& tiling : tilings) {
    for (const TileSegment& segment : tiling.spec.segments) {
      if (IsLines(segment.kind)) used.insert(segment.Ends());
      for (const TileSegment& inner : segment.inner) used.insert(inner.Ends());
    }
  }
  std::vector<TilingTrial> trials;
  for (const auto& [ends, segments] : ways_.segments()) {
    const auto& [i, j, images] = ends;
    if (!used.contains(ways_.SegmentBetween(i, j, TileKind::kLines, 1).Ends())) continue;
    for (TilingTrial& trial : ways_.Refinements(ends)) trials.push_back(std::move(trial));
  }
  ways_.Try(trials);
}

// Small graphs: replaces estimates by exact peaks. Evaluates all tilings found; each single
// segment, and the best of these plus a second one, with the batch whole and split to each possible
// cut; and each segment after a split batch.
void TilingSearch::TryExactly() {
  std::vector<TileSpec> specs;
  for (const Tiling& tiling : tilings_) specs.push_back(tiling.spec);
  tilings_.resize(1);
  std::set<std::string> known = {""};  // the graph as it is
  const auto add = [&](std::vector<Tiling> tilings) {
    for (Tiling& tiling : tilings) {
      known.insert(tiling.spec.ToString());
      tilings_.push_back(std::move(tiling));
    }
  };
  const size_t end = ways_.cuts().size() - 1;
  add(Extended(SegmentsWithin(0, end, ways_.images()), {}));
  for (size_t last = 1; last <= end && ways_.images() > 1 && ways_.SplitsBatch(last); ++last) {
    const TileSegment batch = ways_.SegmentBetween(0, last, TileKind::kBatch, ways_.images());
    specs.push_back({{batch}});
    for (const TilingWay* const behind : SegmentsWithin(last, end, ways_.images())) {
      specs.push_back({{batch, *behind->segment}});
    }
    // A split ends here only if the next tensor is larger (as floats computed from bytes) or cannot
    // be split; otherwise a longer split holds less.
    if (last < end && ways_.SplitsBatch(last + 1) &&
        ways_.BytesOf(last + 1) <= ways_.BytesOf(last)) {
      continue;
    }
    add(Extended(SegmentsWithin(0, last, 1), batch));
  }
  std::erase_if(specs, [&](const TileSpec& spec) { return !known.insert(spec.ToString()).second; });
  add(ExactTilings(problem_, specs));
}

// Returns the segments that were tried between these cuts.
std::vector<const TilingWay*> TilingSearch::SegmentsWithin(size_t first, size_t last,
                                                           int64_t images) const {
  std::vector<const TilingWay*> segments;
  for (const auto& [ends, ways] : ways_.segments()) {
    const auto& [i, j, some] = ends;
    if (i < first || j > last || some != images) continue;
    for (const TilingWay& way : ways) segments.push_back(&way);
  }
  return segments;
}

// Returns the smallest tilings of one segment, and the best of these with a second segment beside
// it, if that needs less; inside a split batch if there is one. Evaluates some at a time, because
// all together take megabytes.
std::vector<Tiling> TilingSearch::Extended(const std::vector<const TilingWay*>& segments,
                                           const std::optional<TileSegment>& batch) {
  const auto inside = [&](std::vector<TileSegment> some) -> std::optional<TileSpec> {
    if (!batch) return TileSpec{std::move(some)};
    TileSegment split = *batch;
    split.inner = std::move(some);
    return TileSpec{{std::move(split)}};
  };
  std::vector<Tiling> found;
  const auto add = [&](absl::FunctionRef<std::optional<TileSpec>(const TilingWay&)> spec_of,
                       int64_t below) {
    std::vector<TileSpec> some;
    for (const TilingWay* const way : segments) {
      if (std::optional<TileSpec> spec = spec_of(*way)) some.push_back(*std::move(spec));
      if (some.size() < kLookedAtTogether && way != segments.back()) continue;
      for (Tiling& tiling : ExactTilings(problem_, some)) {
        if (tiling.arena_bytes < below) found.push_back(std::move(tiling));
      }
      some.clear();
    }
  };
  // Without a split batch, untiled operators need as much as before.
  const auto is_hopeless = [&](absl::Span<const TilingWay* const> some, int64_t below) {
    return !batch && ways_.LargestOutside(some) >= below;
  };
  const int64_t whole = tilings_[0].arena_bytes;
  const auto alone = [&](const TilingWay& way) -> std::optional<TileSpec> {
    if (is_hopeless({&way}, whole)) return std::nullopt;
    return inside({*way.segment});
  };
  add(alone, whole);
  std::stable_sort(found.begin(), found.end(),
                   [](const Tiling& a, const Tiling& b) { return a.arena_bytes < b.arena_bytes; });
  found.resize(std::min(found.size(), kKept));
  const size_t best = std::min(found.size(), kExtended);
  for (size_t k = 0; k < best; ++k) {
    const TileSegment& outer = found[k].spec.segments[0];
    const TileSegment segment = batch ? outer.inner[0] : outer;
    const TilingWay& first =
        **std::find_if(segments.begin(), segments.end(),
                       [&](const TilingWay* way) { return *way->segment == segment; });
    const int64_t below = found[k].arena_bytes;
    if (!batch && first.bytes == below) continue;  // the largest step is in the segment itself
    const auto with = [&](const TilingWay& other) -> std::optional<TileSpec> {
      if (is_hopeless({&first, &other}, below)) return std::nullopt;
      if (other.begin >= first.end) return inside({segment, *other.segment});
      if (other.end <= first.begin) return inside({*other.segment, segment});
      return std::nullopt;
    };
    add(with, below);
  }
  return found;
}

std::vector<Tiling> TilingSearch::Smallest() const {
  std::vector<Tiling> smallest = tilings_;
  std::stable_sort(smallest.begin(), smallest.end(), [](const Tiling& a, const Tiling& b) {
    return std::pair(a.arena_bytes, a.ms) < std::pair(b.arena_bytes, b.ms);
  });
  const double most = few_ ? std::numeric_limits<double>::infinity()
                           : kNearlySmallest * static_cast<double>(smallest[0].arena_bytes);
  std::vector<Tiling> result;
  for (Tiling& tiling : smallest) {
    if (static_cast<double>(tiling.arena_bytes) > most) break;
    // Omits tilings that are known, and, in large graphs, tilings that only join the batch at
    // another cut.
    const bool known = std::any_of(result.begin(), result.end(), [&](const Tiling& other) {
      return few_ ? other.spec == tiling.spec
                  : other.spec == tiling.spec || AreTiledAlike(other.spec, tiling.spec);
    });
    if (!known) result.push_back(std::move(tiling));
  }
  return result;
}

}  // namespace ashlar
