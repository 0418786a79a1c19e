// Chooses tiled segments for a training step. A candidate is a segment between single tensors of
// the model with one kind of tiles. Candidates are compared by the recomputation frontier of the
// tiled step (training/recompute_search.h): by operations if it fits the budget, otherwise by
// memory. The best are tried with other kinds and counts, then with a second segment; the best of
// all are planned.
#include "training/strip_search.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "runtime/plan/tiling/tiling_trials.h"

namespace ashlar {
namespace {

constexpr size_t kMostCuts = 8;     // most cuts between segments
constexpr size_t kRefined = 3;      // segments to refine with other tiles, and specs to plan
constexpr size_t kMostPlanned = 8;  // specs, if the first do not fit
constexpr size_t kMostSegments = 2;
constexpr int64_t kCounts[] = {2, 4, 8, 14, 28, 56};  // of strips
constexpr int64_t kUsual = 8;
constexpr int64_t kMostColumns = 4;
constexpr int64_t kMostNodes = 1000;
constexpr int64_t kMostStepNodes = 4000;  // larger steps take long to plan
constexpr double kWorthIt = 0.98;         // of the peak with fewer segments

struct Candidate {
  TileSpec spec;
  // The frontier's point of fewest operations that fits, or of least memory:
  int64_t peak = 0;
  double extra_flops = 0;
  int64_t least = 0;  // bytes of the smallest point
};

class StripSearch {
 public:
  StripSearch(const TrainingGraph& graph, const TrainingOptions& options, int64_t budget,
              double max_extra_flops, std::stop_token stop)
      : graph_(graph),
        options_(options),
        budget_(budget),
        max_extra_flops_(max_extra_flops),
        stop_(std::move(stop)) {}

  absl::Status Find();
  // The candidates found, the best first.
  const std::vector<Candidate>& found() const { return found_; }
  // Sorts the best first, then by least memory, because plans may need more than estimated.
  void KeepBest(size_t most) { Sort(most, /*by_least=*/true); }
  absl::StatusOr<TrainingGraph> InTiles(const TileSpec& spec) const {
    TrainingOptions options = options_;
    options.tiles = spec;
    return MakeTrainingGraph(graph_.model, options);
  }
  TilesOfStep TilesOf(const TrainingGraph& tiled) const { return {tiled.parts, operations_}; }

 private:
  struct Range {
    int from = 0, to = 0;  // ids
    Shape end;
  };

  void FindRanges();
  // Returns representative tiles of a range.
  static TileSegment UsualTiles(const Range& range);
  // Returns several counts of tiles for each kind.
  std::vector<TileSegment> TilesFor(const Range& range) const;
  absl::Status Try(TileSpec spec);
  // Sorts from candidate `first` on: by the chosen point of each, or by the smallest point.
  void Sort(size_t first = 0, bool by_least = false);
  std::tuple<bool, double, double> KeyOf(const Candidate& c) const {
    const auto peak = static_cast<double>(c.peak);
    const bool fits = c.peak <= budget_;
    return {!fits, fits ? c.extra_flops : peak, fits ? peak : c.extra_flops};
  }

  const TrainingGraph& graph_;
  const TrainingOptions& options_;
  const int64_t budget_;
  const double max_extra_flops_;
  const std::stop_token stop_;
  double operations_ = 0;  // of the untiled step
  std::vector<Range> ranges_;
  std::set<std::string> tried_;
  std::vector<Candidate> found_;
};

void StripSearch::FindRanges() {
  const Graph& model = graph_.model;
  std::vector<int> order(model.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<GraphCut> cuts;
  const auto bytes = [&](const GraphCut& cut) { return model.var(cut.var).type.bytes(); };
  for (const GraphCut& cut : FindCuts(model, order)) {
    if (model.var(cut.var).type.shape.rank() == 4) cuts.push_back(cut);
  }
  if (cuts.size() > kMostCuts) {
    std::vector<GraphCut> ends;  // smaller than a neighbour
    for (size_t i = 0; i < cuts.size() && ends.size() < kMostCuts; ++i) {
      const bool falls = i > 0 && bytes(cuts[i]) < bytes(cuts[i - 1]);
      const bool rises = i + 1 == cuts.size() || bytes(cuts[i]) < bytes(cuts[i + 1]);
      if (i == 0 || falls || rises) ends.push_back(cuts[i]);
    }
    cuts = std::move(ends);
  }
  const auto is_taken_apart = [&](const GraphCut& from, const GraphCut& to) {
    const std::vector<BatchStatistics>& norms = graph_.parameters.norms;
    return std::any_of(norms.begin(), norms.end(), [&](const BatchStatistics& norm) {
      return norm.node > from.position && norm.node <= to.position;
    });
  };
  for (size_t i = 0; i < cuts.size(); ++i) {
    for (size_t j = i + 1; j < cuts.size(); ++j) {
      if (is_taken_apart(cuts[i], cuts[j])) break;
      ranges_.push_back(
          {IdOf(model, cuts[i]), IdOf(model, cuts[j]), model.var(cuts[j].var).type.shape});
    }
  }
}

TileSegment StripSearch::UsualTiles(const Range& range) {
  const int64_t images = range.end[0], rows = range.end[2];
  if (images > 1) return {range.from, range.to, TileKind::kBatch, images, 1, {}};
  return {range.from, range.to, TileKind::kLines, std::min(kUsual, rows), 1, {}};
}

std::vector<TileSegment> StripSearch::TilesFor(const Range& range) const {
  const int64_t images = range.end[0], rows = range.end[2], columns = range.end[3];
  const auto nodes = static_cast<int64_t>(graph_.model.nodes().size());
  std::vector<TileSegment> tiles;
  const auto by_images = [&](int64_t parts, std::vector<TileSegment> inner) {
    tiles.push_back({range.from, range.to, TileKind::kBatch, parts, 1, std::move(inner)});
  };
  for (int64_t parts = 2; parts <= images; ++parts) {
    if (images % parts == 0) by_images(parts, {});
  }
  for (int64_t count = 2; count <= rows; ++count) {
    // Small models also try the narrowest strips; in large ones they are too many nodes.
    const bool narrow = count == rows || count == rows / 2;
    if (!(narrow && count * nodes <= kMostNodes) &&
        std::find(std::begin(kCounts), std::end(kCounts), count) == std::end(kCounts)) {
      continue;
    }
    for (const TileKind kind : {TileKind::kRows, TileKind::kLines, TileKind::kGrid}) {
      const bool grid = kind == TileKind::kGrid;
      if (grid && count > std::min(columns, kMostColumns)) continue;
      const TileSegment segment = {range.from, range.to, kind, count, grid ? count : 1, {}};
      if (images > 1) {
        by_images(images, {segment});
      } else {
        tiles.push_back(segment);
      }
    }
  }
  return tiles;
}

// Returns an error only if a stop was requested.
absl::Status StripSearch::Try(TileSpec spec) {
  if (!tried_.insert(spec.ToString()).second) return absl::OkStatus();
  const absl::StatusOr<TrainingGraph> tiled = InTiles(spec);
  if (!tiled.ok()) return absl::OkStatus();  // operators that cannot be tiled, or too many nodes
  const auto nodes = static_cast<int64_t>(tiled->step.nodes().size());
  if (nodes > kMostStepNodes) return absl::OkStatus();
  const absl::StatusOr<std::vector<RecomputePoint>> points =
      RecomputeFrontier(tiled->step, max_extra_flops_, TilesOf(*tiled), stop_);
  if (absl::IsCancelled(points.status())) return points.status();
  if (!points.ok()) return absl::OkStatus();
  std::optional<Candidate> best;
  for (const RecomputePoint& point : *points) {
    if (point.extra_flops > max_extra_flops_) continue;
    if (!best || best->peak > budget_) best = {spec, point.peak_bytes, point.extra_flops};
    best->least = point.peak_bytes;
  }
  if (best) found_.push_back(*std::move(best));
  return absl::OkStatus();
}

void StripSearch::Sort(size_t first, bool by_least) {
  std::sort(found_.begin() + static_cast<std::ptrdiff_t>(std::min(first, found_.size())),
            found_.end(), [&](const Candidate& a, const Candidate& b) {
              return by_least ? a.least < b.least : KeyOf(a) < KeyOf(b);
            });
}

absl::Status StripSearch::Find() {
  ASHLAR_ASSIGN_OR_RETURN(const Graph step, NormsInHalves(graph_.step));
  operations_ = StepOperations(step);
  FindRanges();
  std::vector<TileSegment> before;  // the best so far
  for (size_t round = 0; round < kMostSegments; ++round) {
    const auto with = [&](TileSegment segment) {
      TileSpec spec{before};
      spec.segments.push_back(std::move(segment));
      return spec;
    };
    const int64_t peak = round == 0 ? 0 : found_[0].peak;
    for (const Range& range : ranges_) {
      ASHLAR_RETURN_IF_ERROR(Try(with(UsualTiles(range))));
    }
    Sort();
    std::vector<Range> refined;
    for (size_t i = 0; i < std::min(kRefined, found_.size()); ++i) {
      const TileSegment& last = found_[i].spec.segments.back();
      for (const Range& range : ranges_) {
        if (range.from == last.from && range.to == last.to) refined.push_back(range);
      }
    }
    for (const Range& range : refined) {
      for (TileSegment& segment : TilesFor(range)) {
        ASHLAR_RETURN_IF_ERROR(Try(with(std::move(segment))));
      }
    }
    Sort();
    if (found_.empty() || found_[0].peak <= budget_) break;
    if (round > 0 && static_cast<double>(found_[0].peak) > kWorthIt * static_cast<double>(peak)) {
      break;
    }
    before = found_[0].spec.segments;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FittedTraining> FitTraining(const TrainingGraph& graph,
                                           const TrainingOptions& options, int64_t budget,
                                           double max_extra_flops, const PlanRequest& request) {
  absl::StatusOr<FittedStep> untiled = FitStep(graph.step, budget, max_extra_flops, request);
  absl::Status least = untiled.status();
  if (!least.ok() && !absl::IsResourceExhausted(least)) return least;
  std::optional<FittedTraining> best;
  if (untiled.ok()) best = FittedTraining{*std::move(untiled), {}};
  if (budget > 0 && best && best->step.point.extra_flops == 0) return *std::move(best);
  StripSearch search(graph, options, budget, max_extra_flops, request.planning.planner.limits.stop);
  ASHLAR_RETURN_IF_ERROR(search.Find());
  search.KeepBest(kRefined);
  for (size_t i = 0; i < std::min(kMostPlanned, search.found().size()); ++i) {
    if (i >= kRefined && best) break;
    const TileSpec& spec = search.found()[i].spec;
    ASHLAR_ASSIGN_OR_RETURN(const TrainingGraph tiled, search.InTiles(spec));
    absl::StatusOr<FittedStep> fitted =
        FitStep(tiled.step, budget, max_extra_flops, request, search.TilesOf(tiled));
    if (absl::IsResourceExhausted(fitted.status())) {
      if (NeededBytes(fitted.status()) < NeededBytes(least)) least = fitted.status();
      continue;
    }
    if (!fitted.ok()) return fitted.status();
    const auto better = [&](const FittedStep& a, const FittedStep& b) {
      return budget > 0 ? a.predicted_ms < b.predicted_ms : a.arena_bytes < b.arena_bytes;
    };
    if (!best || better(*fitted, best->step)) best = FittedTraining{*std::move(fitted), spec};
  }
  if (best) return *std::move(best);
  return least;
}

absl::StatusOr<std::vector<TrainingPoint>> TrainingFrontier(const TrainingGraph& graph,
                                                            const TrainingOptions& options,
                                                            double max_extra_flops) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<RecomputePoint> whole,
                          RecomputeFrontier(graph.step, max_extra_flops));
  std::vector<TrainingPoint> points, in_tiles;
  for (const RecomputePoint& point : whole) points.push_back({{}, point});
  StripSearch search(graph, options, 0, max_extra_flops, {});
  ASHLAR_RETURN_IF_ERROR(search.Find());
  for (size_t i = 0; i < std::min(kRefined, search.found().size()); ++i) {
    const TileSpec& spec = search.found()[i].spec;
    ASHLAR_ASSIGN_OR_RETURN(const TrainingGraph tiled, search.InTiles(spec));
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<RecomputePoint> found,
                            RecomputeFrontier(tiled.step, max_extra_flops, search.TilesOf(tiled)));
    for (const RecomputePoint& point : found) in_tiles.push_back({spec, point});
  }
  std::sort(in_tiles.begin(), in_tiles.end(), [](const TrainingPoint& a, const TrainingPoint& b) {
    return a.recompute.peak_bytes > b.recompute.peak_bytes;
  });
  double cost = std::numeric_limits<double>::infinity();  // of all that need less
  std::vector<TrainingPoint> behind;
  for (size_t i = in_tiles.size(); i-- > 0;) {
    const RecomputePoint& point = in_tiles[i].recompute;
    if (point.peak_bytes >= points.back().recompute.peak_bytes) break;
    if (point.extra_flops >= cost) continue;
    cost = point.extra_flops;
    behind.push_back(std::move(in_tiles[i]));
  }
  std::move(behind.rbegin(), behind.rend(), std::back_inserter(points));
  return points;
}

absl::StatusOr<TrainingGraph> TrainingGraphOf(const TrainingGraph& graph, TrainingOptions options,
                                              const TrainingPoint& point) {
  options.tiles = point.tiles;
  options.recompute = point.recompute.spec;
  return MakeTrainingGraph(graph.model, options);
}

}  // namespace ashlar
