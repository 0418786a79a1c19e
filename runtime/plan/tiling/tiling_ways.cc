// Cuts out each segment as a graph, rewrites it, and adds up its live bytes and estimated times,
// without planning.
#include "runtime/plan/tiling/tiling_ways.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/stages/parallel_for.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/schedule/ordered_plan.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

// The arena of a single segment has one part in this many of the work for a plan.
constexpr int64_t kPlacementShare = 16;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;  // bytes

// Returns about how many operators a trial has.
int64_t SizeOf(const TilingTrial& trial) {
  return trial.count * trial.count_width * static_cast<int64_t>(trial.j - trial.i) * trial.images;
}

std::vector<int> AllNodes(const Graph& graph) {
  std::vector<int> nodes(graph.nodes().size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
  return nodes;
}

}  // namespace

StorageOptions StorageFor(const TileSpec& spec, const StorageOptions& whole) {
  StorageOptions options = whole;
  options.parts = options.parts || spec.Has(TileKind::kRolling);
  return options;
}

TilingWays::TilingWays(const TilingProblem& problem)
    : problem_(problem),
      model_(BuildStorageModel(problem.graph, problem.arena.storage)),
      cuts_(FindWideCuts(problem.graph, problem.order)),
      flops_(WeightFlops(problem.graph)),
      keys_(problem.graph, problem.order, *problem.costs) {
  if (cuts_.empty()) return;
  const Shape& shape = problem.graph.var(cuts_[0].var).type.shape;
  if (shape.rank() > 0) images_ = std::max<int64_t>(shape[0], 1);
}

bool TilingWays::IsInput(const GraphCut& cut) const {
  const Graph& graph = problem_.graph;
  return graph.node(graph.var(cut.var).producer).op->role() == Role::kInput;
}

TileSegment TilingWays::SegmentBetween(size_t i, size_t j, TileKind kind, int64_t count,
                                       int64_t count_width) const {
  TileSegment segment = ashlar::SegmentBetween(problem_.graph, problem_.order, cuts_[i], cuts_[j]);
  segment.kind = kind;
  segment.count = count;
  segment.count_width = count_width;
  return segment;
}

int64_t TilingWays::BytesOf(size_t cut) const {
  int64_t bytes = 0;
  for (const int var : cuts_[cut].vars()) bytes += problem_.graph.var(var).type.bytes();
  return bytes;
}

int64_t TilingWays::ArenaBytesOf(size_t cut) const {
  if (IsInput(cuts_[cut])) return 0;
  int64_t bytes = 0;
  for (const int var : cuts_[cut].vars()) {
    if (!IsOutput(problem_.graph, var)) bytes += problem_.graph.var(var).type.bytes();
  }
  return bytes;
}

int64_t TilingWays::WaitingBytes(int64_t parts, size_t last) const {
  const int64_t read = problem_.arena.storage.release_inputs ? BytesOf(0) : 0;
  return std::max(BytesOf(last), read) / parts * (parts - 1);
}

int64_t TilingWays::AsItIsPeak(size_t first, size_t last) {
  int64_t peak = 0;
  for (size_t i = first; i < last; ++i) peak = std::max(peak, Whole(i, images_).bytes);
  return peak / images_;
}

bool TilingWays::SplitsBatch(size_t last) {
  memory::ThrowIfStopped(problem_.stop);
  const auto [entry, is_new] = splits_batch_.try_emplace(last);
  if (is_new) {
    const TileSegment halves = SegmentBetween(0, last, TileKind::kBatch, 2);
    entry->second = Tile(problem_.graph, {{halves}}, problem_.order, Operators()).ok();
  }
  return entry->second;
}

bool TilingWays::Fits(const TilingTrial& trial) const {
  const bool lines = IsLines(trial.kind);
  const int64_t rows =
      RowsOf(problem_.graph, cuts_, lines ? trial.i : trial.j, lines ? trial.j : trial.i);
  return trial.segment || (trial.count >= 2 && trial.count <= std::min(rows, kMostStrips));
}

void TilingWays::Try(absl::Span<const TilingTrial> trials, absl::Span<const TilingTrial> next) {
  std::vector<std::optional<TilingWay>> ways(trials.size());
  // The largest first, so that no core waits long for the last; meanwhile, trials of `next` that
  // take no longer than that.
  std::vector<const TilingTrial*> order;
  int64_t largest = 0, all = 0;
  for (const TilingTrial& trial : trials) {
    order.push_back(&trial);
    largest = std::max(largest, SizeOf(trial));
    all += SizeOf(trial);
  }
  const auto by_size = [](const TilingTrial* a, const TilingTrial* b) {
    return SizeOf(*a) > SizeOf(*b);
  };
  std::stable_sort(order.begin(), order.end(), by_size);
  int64_t idle = CoresForPlanning() * largest - all;
  for (const TilingTrial& trial : next) {
    if (SizeOf(trial) > idle) continue;
    order.push_back(&trial);
    idle -= SizeOf(trial);
  }
  ParallelFor(order.size(), problem_.stop, [&](size_t k) {
    const TilingTrial& trial = *order[k];
    std::optional<TilingWay> way = Fits(trial) ? Tiled(trial) : std::nullopt;
    if (k < trials.size()) ways[static_cast<size_t>(&trial - trials.data())] = std::move(way);
  });
  for (std::optional<TilingWay>& way : ways) {
    if (!way || way->extra_flops > problem_.max_extra_flops) continue;
    segments_[{way->begin, way->end, way->images}].push_back(*std::move(way));
  }
}

std::vector<TilingTrial> TilingWays::Refinements(const Ends& ends) {
  if (!refined_.insert(ends).second) return {};
  const auto& [i, j, images] = ends;
  std::vector<TilingTrial> trials =
      RefinedTrials(problem_.graph, cuts_, i, j, images, problem_.rolling);
  if (problem_.max_extra_flops > 0) {
    for (const AgainTrial& again : AgainTrialsOf(i, j, images, /*with_columns=*/false)) {
      trials.push_back(TrialOf(again, i, j, images));
    }
  }
  if (!segments_.contains(ends)) {
    trials.insert(trials.begin(), FirstTrial(problem_.graph, cuts_, i, j, images));
  }
  return trials;
}

std::vector<AgainTrial> TilingWays::AgainTrialsOf(size_t i, size_t j, int64_t images,
                                                  bool with_columns) const {
  std::vector<AgainTrial> trials =
      AgainTrials(problem_.graph, problem_.order, cuts_, i, j,
                  problem_.max_extra_flops * flops_ / static_cast<double>(images_), with_columns);
  for (AgainTrial& trial : trials) {
    trial.bytes *= images;
    trial.flops = ExtraRatio(trial.flops * static_cast<double>(images), flops_);
  }
  return trials;
}

TilingTrial TilingWays::TrialOf(const AgainTrial& again, size_t i, size_t j, int64_t images) const {
  const TileKind kind = problem_.rolling ? TileKind::kRolling : TileKind::kLines;
  TileSegment segment = InStrips(SegmentBetween(i, j, kind, 1), again, kind);
  return {i, j, kind, again.strips, again.parts, images, std::move(segment)};
}

// Returns the storage of a graph between two cuts (GraphBetween) for so many images. In a slice of
// the batch, the caller's output is a tensor of the arena, and is copied from there.
StorageModel TilingWays::ModelOf(const Graph& part, const GraphCut& from, const GraphCut& to,
                                 int64_t images, const TileSpec& tiles) const {
  const StorageOptions& storage = problem_.arena.storage;
  const bool released = IsInput(from) && storage.release_inputs;
  const std::vector<int> ends = to.vars();
  const auto kept = static_cast<size_t>(std::count_if(
      ends.begin(), ends.end(), [&](int var) { return !IsOutput(problem_.graph, var); }));
  return BuildPartStorageModel(
      part, StorageFor(tiles, storage),
      {!IsInput(from) || released, images < images_ ? part.outputs().size() : kept, released});
}

// Returns the peak of such a graph, in its order.
int64_t TilingWays::PeakOf(const Graph& part, const GraphCut& from, const GraphCut& to,
                           int64_t images, const TileSpec& tiles) const {
  const StorageModel model = ModelOf(part, from, to, images, tiles);
  return ScheduleAsGiven(part, model, problem_.arena.workspace(part, model)).peak_bytes;
}

TilingWay TilingWays::AsItIs(const GraphCut& from, const GraphCut& to, int64_t images) const {
  TilingWay way;
  way.images = images;
  if (const auto part = GraphBetween(problem_.graph, problem_.order, from, to, images); part.ok()) {
    way.bytes = PeakOf(*part, from, to, images, {});
  } else if (images < images_) {
    // A parameter contains the number of images; tiling rewrites it.
    way.bytes = AsItIs(from, to, images_).bytes / images_ * images;
  } else {
    way.bytes = kNever;
  }
  const double share = static_cast<double>(images) / static_cast<double>(images_);
  for (int i = from.position + 1; i <= to.position; ++i) {
    way.ms += EstimateOperator(problem_.graph, model_, problem_.order[i], problem_.speed, share);
  }
  return way;
}

// Returns nullopt if the segment cannot be tiled like this.
std::optional<TilingWay> TilingWays::Tiled(const TilingTrial& trial) const {
  TilingWay way;
  way.begin = trial.i, way.end = trial.j, way.images = trial.images;
  way.segment = trial.segment;
  if (!way.segment) {
    way.segment = SegmentBetween(trial.i, trial.j, trial.kind, trial.count, trial.count_width);
  }
  const TileSpec tiles = {{*way.segment}};
  const std::optional<TilingCost> cost = problem_.costs->Of(
      KeyOf(trial.i, trial.j, trial.images, tiles), [&] { return CostOf(trial, tiles); });
  if (!cost) return std::nullopt;
  way.bytes = cost->bytes;
  way.ms = cost->ms;
  way.extra_flops = ExtraRatio(cost->extra_flops, flops_);
  return way;
}

// Evaluates a segment in tiles; nullopt if it does not have them.
std::optional<TilingCost> TilingWays::CostOf(const TilingTrial& trial,
                                             const TileSpec& tiles) const {
  const GraphCut &from = cuts_[trial.i], &to = cuts_[trial.j];
  const absl::StatusOr<Graph> part =
      GraphBetween(problem_.graph, problem_.order, from, to, trial.images);
  if (!part.ok()) return std::nullopt;
  const absl::StatusOr<Graph> tiled =
      Tile(*part, tiles, AllNodes(*part), Operators(), nullptr, problem_.adds_quantized);
  if (!tiled.ok()) return std::nullopt;
  TilingCost cost;
  cost.bytes = PeakOf(*tiled, from, to, trial.images, tiles);
  const StorageOptions storage = StorageFor(tiles, problem_.arena.storage);
  cost.ms = EstimateTime(*tiled, BuildStorageModel(*tiled, storage), problem_.speed);
  cost.extra_flops = WeightFlops(*tiled) - WeightFlops(*part);
  return cost;
}

std::string TilingWays::KeyOf(size_t i, size_t j, int64_t images, const TileSpec& tiles) const {
  return absl::StrCat(images, " of ", images_, ":", keys_.Of(cuts_[i], cuts_[j], tiles));
}

int64_t TilingWays::PlacedBytes(const TilingWay& way) const {
  TileSpec tiles;
  if (way.segment) tiles.segments = {*way.segment};
  std::string key = KeyOf(way.begin, way.end, way.images, tiles);
  absl::StrAppend(&key, "|placed ", way.depth);
  return problem_.costs->Of(std::move(key), [&] { return TilingCost{ArenaOf(way, tiles)}; })->bytes;
}

// Returns the peak if the option cannot be cut out of the graph.
int64_t TilingWays::ArenaOf(const TilingWay& way, const TileSpec& tiles) const {
  const GraphCut &from = cuts_[way.begin], &to = cuts_[way.end];
  absl::StatusOr<Graph> part = GraphBetween(problem_.graph, problem_.order, from, to, way.images);
  if (part.ok() && way.segment)
    part = Tile(*part, tiles, AllNodes(*part), Operators(), nullptr, problem_.adds_quantized);
  if (!part.ok()) return way.bytes;
  const StorageModel model = ModelOf(*part, from, to, way.images, tiles);
  const std::vector<int64_t> workspace = problem_.arena.workspace(*part, model);
  OrderedPlanOptions options{problem_.alignment, 0, /*reorder=*/false, false, problem_.planner};
  options.planner.limits.work = options.planner.limits.work / kPlacementShare << (2 * way.depth);
  const absl::StatusOr<OrderedPlan> plan =
      PlanInOrder(*part, model, ScheduleAsGiven(*part, model, workspace), workspace, options);
  return plan.ok() ? std::max(way.bytes, plan->plan.plan.arena) : way.bytes;
}

TilingWay& TilingWays::Mine(const TilingWay& way) {
  if (!way.segment) return whole_.at({way.begin, way.images});
  std::vector<TilingWay>& segments = segments_.at({way.begin, way.end, way.images});
  return segments[static_cast<size_t>(&way - segments.data())];
}

void TilingWays::Place(absl::Span<const TilingWay* const> ways,
                       absl::Span<const TilingWay* const> next) {
  const auto is_known = [](const TilingWay& way) { return way.depth == 0 && way.ahead >= 0; };
  std::vector<TilingWay*> placed;  // now
  for (const TilingWay* way : ways) {
    if (!is_known(*way)) placed.push_back(&Mine(*way));
  }
  if (!placed.empty()) {
    for (const TilingWay* way : next) {
      if (!is_known(*way)) placed.push_back(&Mine(*way));
    }
  }
  std::vector<int64_t> bytes(placed.size());
  ParallelFor(placed.size(), problem_.stop, [&](size_t i) { bytes[i] = PlacedBytes(*placed[i]); });
  for (size_t i = 0; i < placed.size(); ++i) placed[i]->ahead = bytes[i];
  for (const TilingWay* way : ways) {
    TilingWay& mine = Mine(*way);
    mine.placed = mine.placed < 0 ? mine.ahead : std::min(mine.placed, mine.ahead);
    ++mine.depth;
  }
}

void TilingWays::Without(absl::Span<const TilingWay* const> ways,
                         absl::FunctionRef<void()> function) {
  for (const TilingWay* way : ways) Mine(*way).placed = kNever;
  function();
  for (const TilingWay* way : ways) Mine(*way).placed = -1;
}

const TilingWay& TilingWays::Whole(size_t cut, int64_t images) {
  memory::ThrowIfStopped(problem_.stop);
  const auto [entry, is_new] = whole_.try_emplace({cut, images});
  if (is_new) {
    entry->second = AsItIs(cuts_[cut], cuts_[cut + 1], images);
    entry->second.begin = cut;
    entry->second.end = cut + 1;
  }
  return entry->second;
}

int64_t TilingWays::LargestOutside(absl::Span<const TilingWay* const> segments) {
  int64_t bytes = 0;
  for (size_t cut = 0; cut + 1 < cuts_.size(); ++cut) {
    const bool inside = std::any_of(
        segments.begin(), segments.end(),
        [&](const TilingWay* segment) { return segment->begin <= cut && cut < segment->end; });
    const int64_t whole = inside ? 0 : Whole(cut, images_).bytes;
    if (whole < kNever) bytes = std::max(bytes, whole);
  }
  return bytes;
}

std::vector<const TilingWay*> TilingWays::Between(size_t first, size_t last, int64_t images) {
  std::vector<const TilingWay*> ways;
  const auto add = [&](const TilingWay& way) {
    if (way.bytes < kNever) ways.push_back(&way);
  };
  for (size_t i = first; i < last; ++i) add(Whole(i, images));
  for (const auto& [ends, segments] : segments_) {
    const auto& [i, j, some] = ends;
    if (i < first || j > last || some != images) continue;
    for (const TilingWay& segment : segments) add(segment);
  }
  std::stable_sort(ways.begin(), ways.end(), [](const TilingWay* a, const TilingWay* b) {
    return std::pair(a->end, a->begin) < std::pair(b->end, b->begin);
  });
  return ways;
}

std::vector<TilingWay> TilingWays::All() const {
  std::vector<TilingWay> ways;
  for (const auto& [at, way] : whole_) {
    if (way.bytes < kNever) ways.push_back(way);
  }
  for (const auto& [ends, segments] : segments_) {
    ways.insert(ways.end(), segments.begin(), segments.end());
  }
  return ways;
}

}  // namespace ashlar
