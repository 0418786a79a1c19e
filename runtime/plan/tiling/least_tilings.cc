#include "runtime/plan/tiling/least_tilings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "runtime/plan/stages/parallel_for.h"

namespace ashlar {
namespace {

// Limits on the operators of all tiled segments that one call evaluates with the usual work:
// between other cuts, and in total.
constexpr double kMostHoped = 300000, kMostEvaluated = 450000;
// A call that has evaluated more operators turns to estimates with the rows of skips first.
constexpr int64_t kMostOptimistic = 100000;
// A call that has evaluated more operators with the usual work leaves out grids whose tiles read a
// part of a row.
constexpr double kMostGrids = 100000;
// Cuts at which a split batch may be joined again.
constexpr size_t kJoins = 16;
// Segments of the smallest path are placed if their live bytes are at least this share of it.
constexpr double kMayBeLargest = 0.75;
// The cost of a segment that is not evaluated: a constant, and its estimate's share of the bytes
// that it must be below, to this power.
constexpr double kEvaluation = 0.05, kPower = 4;
// The share of the cost of operations that are computed again if they are only expected.
constexpr double kHopedFlops = 0.3;
// Tiles beside each other of the finest grid (FirstTrials).
constexpr int64_t kTileColumns = 8;
// Differences below this are rounding errors of sums.
constexpr double kSameFlops = 1e-9;
// Paths to a cut that recompute so many parts of the limit are kept apart.
constexpr size_t kFlopLevels = 16;
// The order of the norm by which paths leave room.
constexpr double kNorm = 8, kRoomy = 0.6;
// Tilings that are expected to need up to so much more than the smallest.
constexpr double kNearlyLeast = 1.1;
constexpr size_t kNearlyLeastTilings = 6;
// How often a segment is placed, how many are placed again at once, and how often a call does that.
constexpr int kPlacings = 3;
constexpr size_t kAgain = 2;
constexpr int kRounds = 2;
// Segments placed at the same time, some of them before it is known that they have to be. Each
// takes megabytes.
constexpr int64_t kTogether = 4;
// No segment is placed again if the smallest tiling is expected to need this many times the bytes
// of a known plan.
constexpr double kHopeless = 1.25;

int64_t ValueOf(const TilingWay& way) { return std::max(way.bytes, way.placed); }

}  // namespace

LeastTilings::LeastTilings(const TilingProblem& problem, double work)
    : problem_(problem), work_(work), ways_(problem) {
  estimates_.emplace(problem.graph, problem.order, ways_.cuts());
  if (ways_.cuts().size() >= 2) FindSplits();
}

// A batch is split into single images, or not at all. It is joined where the tensor is not larger
// than its neighbours.
void LeastTilings::FindSplits() {
  const size_t end = ways_.cuts().size() - 1;
  splits_.push_back({1, end, 0});
  std::vector<size_t> small;
  for (size_t i = 1; i <= end && ways_.images() > 1 && ways_.SplitsBatch(i); ++i) {
    const bool is_small = ways_.BytesOf(i) <= ways_.BytesOf(i - 1) &&
                          (i == end || ways_.BytesOf(i) <= ways_.BytesOf(i + 1));
    if (i == end || is_small || !ways_.SplitsBatch(i + 1)) small.push_back(i);
  }
  const size_t count = std::min(small.size(), kJoins);
  for (size_t i = 0; i < count; ++i) {
    const size_t last = small[small.size() - 1 - i * small.size() / count];
    splits_.push_back({ways_.images(), last, ways_.WaitingBytes(ways_.images(), last)});
  }
}

// Returns the path between two cuts that recomputes least, of equals the preferred one, with
// segments of at most `bytes`; nullopt if there is none. `ways`: sorted by their ends.
std::optional<TilingPath> LeastTilings::Cheapest(const std::vector<const TilingWay*>& ways,
                                                 size_t first, size_t last, int64_t bytes,
                                                 Prefer prefer) {
  struct Step {
    const TilingWay* way = nullptr;
    double extra_flops = 0, cost = 0;
    bool reached = false;
  };
  const auto cost_of = [&](const TilingWay& way) {
    // A norm of high order weighs the largest segments most.
    return prefer == Prefer::kFast
               ? way.ms
               : std::pow(static_cast<double>(ValueOf(way)) / static_cast<double>(bytes), kNorm);
  };
  std::vector<Step> steps(last + 1);
  steps[first].reached = true;
  for (const TilingWay* const way : ways) {
    const Step& before = steps[way->begin];
    if (ValueOf(*way) > bytes || !before.reached) continue;
    const bool rolls = way->segment && way->segment->kind == TileKind::kRolling;
    if (prefer == Prefer::kLines && rolls) continue;
    const double extra_flops = before.extra_flops + way->extra_flops;
    const double cost = before.cost + cost_of(*way);
    Step& step = steps[way->end];
    const double more = extra_flops - step.extra_flops;
    if (step.reached && (more > kSameFlops || (more > -kSameFlops && step.cost <= cost))) continue;
    step = {way, extra_flops, cost, true};
  }
  if (!steps[last].reached) return std::nullopt;
  TilingPath path;
  for (size_t j = last; j > first; j = path.back()->begin) path.push_back(steps[j].way);
  std::reverse(path.begin(), path.end());
  return path;
}

const std::vector<const TilingWay*>& LeastTilings::Between(size_t first, size_t last,
                                                           int64_t images) {
  const auto [entry, is_new] = between_.try_emplace({first, last, images});
  if (is_new) entry->second = ways_.Between(first, last, images);
  return entry->second;
}

std::optional<LeastTilings::Found> LeastTilings::Within(const Split& split, int64_t bytes,
                                                        double max_extra_flops, Prefer prefer) {
  const size_t end = ways_.cuts().size() - 1;
  const auto part = Cheapest(Between(0, split.last, ways_.images() / split.parts), 0, split.last,
                             bytes - split.waiting, prefer);
  if (!part) return std::nullopt;
  const auto rest =
      Cheapest(Between(split.last, end, ways_.images()), split.last, end, bytes, prefer);
  if (!rest) return std::nullopt;
  Found found{split, *part, *rest};
  const auto add = [&](const TilingPath& path, int64_t times, int64_t waiting) {
    for (const TilingWay* way : path) {
      found.bytes = std::max(found.bytes, ValueOf(*way) + waiting);
      found.live_bytes = std::max(found.live_bytes, way->bytes + waiting);
      found.ms += way->ms * static_cast<double>(times);
      found.extra_flops += way->extra_flops * static_cast<double>(times);
    }
  };
  add(found.part, split.parts, split.waiting);
  add(found.rest, 1, 0);
  if (found.extra_flops > max_extra_flops + kSameFlops) return std::nullopt;
  return found;
}

std::vector<int64_t> LeastTilings::ValuesOf(const Split& split) {
  std::set<int64_t> values;
  for (const TilingWay* way : Between(0, split.last, ways_.images() / split.parts)) {
    values.insert(ValueOf(*way) + split.waiting);
  }
  const size_t end = ways_.cuts().size() - 1;
  for (const TilingWay* way : Between(split.last, end, ways_.images())) {
    values.insert(ValueOf(*way));
  }
  return {values.begin(), values.end()};
}

std::optional<LeastTilings::Found> LeastTilings::LeastOf(const Split& split,
                                                         double max_extra_flops) {
  const std::vector<int64_t> budgets = ValuesOf(split);
  // More bytes never make the path that recomputes least recompute more.
  const auto least = std::partition_point(budgets.begin(), budgets.end(), [&](int64_t bytes) {
    return !Within(split, bytes, max_extra_flops);
  });
  if (least == budgets.end()) return std::nullopt;
  return Within(split, *least, max_extra_flops);
}

std::optional<LeastTilings::Found> LeastTilings::Least(double max_extra_flops) {
  std::optional<Found> least;
  const auto key = [](const Found& found) {
    return std::tuple(found.bytes, std::round(found.extra_flops / kSameFlops), found.ms);
  };
  for (const Split& split : splits_) {
    std::optional<Found> found = LeastOf(split, max_extra_flops);
    if (found && (!least || key(*found) < key(*least))) least = std::move(found);
  }
  return least;
}

// Returns the segments of a tiling that may be its largest and are not placed.
std::vector<const TilingWay*> LeastTilings::Unplaced(const Found& found) {
  std::vector<const TilingWay*> ways;
  const auto add = [&](const TilingPath& path, int64_t waiting) {
    for (const TilingWay* way : path) {
      const double near = kMayBeLargest * static_cast<double>(found.bytes);
      if (way->placed < 0 && static_cast<double>(way->bytes + waiting) >= near) {
        ways.push_back(way);
      }
    }
  };
  add(found.part, found.split.waiting);
  add(found.rest, 0);
  return ways;
}

// Places the segments of the smallest tiling that may be its largest; returns false if all were
// placed. Most turn out too large, so cores that would wait place the segments of the tiling that
// is the smallest then.
bool LeastTilings::Place(const Found& found, double max_extra_flops) {
  const std::vector<const TilingWay*> ways = Unplaced(found);
  if (ways.empty()) return false;
  const auto together = static_cast<size_t>(std::min(CoresForPlanning(), kTogether));
  std::vector<const TilingWay*> too_large = ways;
  for (size_t before = 0; before < too_large.size() && too_large.size() < together;) {
    before = too_large.size();
    std::optional<Found> next;
    ways_.Without(too_large, [&] { next = Least(max_extra_flops); });
    if (!next) break;
    for (const TilingWay* way : Unplaced(*next)) {
      if (std::count(ways.begin(), ways.end(), way) == 0) too_large.push_back(way);
    }
  }
  ways_.Place(ways, absl::MakeSpan(too_large).subspan(ways.size()));
  return true;
}

// Places the segments that decide the bytes of the smallest tiling again, with more work: its
// largest, and segments that would be smaller if they needed only their live bytes. Returns false
// if there are none.
bool LeastTilings::PlaceAgain(const Found& found) {
  std::vector<const TilingWay*> ways;
  const auto add = [&](const std::vector<const TilingWay*>& some, int64_t waiting) {
    for (const TilingWay* way : some) {
      const int64_t bytes = ValueOf(*way) + waiting;
      if (way->depth > 0 && way->depth < kPlacings && way->bytes < way->placed &&
          way->bytes + waiting < found.bytes && bytes >= found.bytes &&
          static_cast<double>(bytes) <= kNearlyLeast * static_cast<double>(found.bytes)) {
        ways.push_back(way);
      }
    }
  };
  add(Between(0, found.split.last, ways_.images() / found.split.parts), found.split.waiting);
  std::stable_sort(ways.begin(), ways.end(), [](const TilingWay* a, const TilingWay* b) {
    return std::pair(a->depth, ValueOf(*a)) < std::pair(b->depth, ValueOf(*b));
  });
  if (ways.size() > kAgain) ways.erase(ways.begin() + kAgain, ways.end());
  ways_.Place(ways);
  return !ways.empty();
}

std::vector<LeastTilings::Hope> LeastTilings::HopesWithin(double max_extra_flops) {
  if (max_extra_flops == 0) return {Hope::kLines};
  return {Hope::kLines, Hope::kTiles};
}

// Returns the candidates that take fewer bytes than each one with fewer operations.
std::vector<LeastTilings::AgainHope>& LeastTilings::AgainHopes(size_t i, size_t j, int64_t images) {
  const auto [entry, is_new] = again_hopes_.try_emplace({i, j, images});
  if (!is_new) return entry->second;
  std::vector<AgainTrial> trials = ways_.AgainTrialsOf(i, j, images, /*with_columns=*/true);
  std::vector<AgainHope> hopes;
  for (AgainTrial& trial : trials) {
    const int64_t of_image = trial.bytes / images;
    const int64_t bytes = images * (trial.parts == 1 ? estimates_->OfAgain(i, j, of_image)
                                                     : estimates_->OfColumns(i, j, of_image));
    hopes.push_back({std::move(trial), bytes});
  }
  std::stable_sort(hopes.begin(), hopes.end(), [](const AgainHope& a, const AgainHope& b) {
    return std::pair(a.trial.flops, a.bytes) < std::pair(b.trial.flops, b.bytes);
  });
  for (AgainHope& hope : hopes) {
    if (entry->second.empty() || hope.bytes < entry->second.back().bytes) {
      entry->second.push_back(std::move(hope));
    }
  }
  return entry->second;
}

// Returns the estimate of candidates that were not tried yet, if they may need less than `bytes`.
std::optional<int64_t> LeastTilings::EstimateBelow(int64_t bytes, size_t i, size_t j,
                                                   int64_t images, Hope hope,
                                                   const HopeRule& rule) {
  if (tried_.contains({i, j, images, hope})) return std::nullopt;
  const std::optional<int64_t> of_image =
      hope == Hope::kLines ? estimates_->OfLines(i, j, /*rolling=*/true, rule.skips)
                           : estimates_->OfTiles(i, j);
  if (!of_image) return std::nullopt;
  const int64_t estimate = *of_image * images;
  const bool below =
      estimate < bytes || (rule.parts_of_rows && hope == Hope::kTiles &&
                           *estimates_->OfTiles(i, j, kTileColumns) * images < bytes);
  return below ? std::optional(estimate) : std::nullopt;
}

std::vector<TilingTrial> LeastTilings::TrialsOf(size_t i, size_t j, int64_t images, Hope hope,
                                                bool lines) const {
  return FirstTrials(problem_.graph, ways_.cuts(), i, j, images, hope == Hope::kTiles, lines);
}

// Evaluates the segments on the most promising path that may need less than `below`; returns false
// if there is none.
bool LeastTilings::TryHopeful(const Split& split, int64_t below, double max_extra_flops,
                              const HopeRule& rule) {
  while (auto hopeful = FindHopeful(split, below, max_extra_flops, rule)) {
    Mark(*hopeful);
    if (hopeful->trials.empty()) continue;  // no tiles fit these segments
    // Most turn out too large; then the next path has these segments.
    const auto next = FindHopeful(split, below, max_extra_flops, rule);
    Try(std::move(hopeful->trials), next ? next->trials : std::vector<TilingTrial>());
    return true;
  }
  return false;
}

void LeastTilings::Mark(const Hopeful& hopeful) {
  for (const Tried& key : hopeful.tried) tried_.insert(key);
  for (AgainHope* const hope : hopeful.again) hope->tried = true;
}

// Returns the trials of the segments on that path that were not tried yet; nullopt if there is no
// path with any.
std::optional<LeastTilings::Hopeful> LeastTilings::FindHopeful(const Split& split, int64_t below,
                                                               double max_extra_flops,
                                                               const HopeRule& rule) {
  struct Step {
    size_t begin = 0, level = 0;  // the step before
    bool reached = false, hoped = false;
    AgainHope* again = nullptr;  // if that is hoped
    double cost = 0, extra_flops = 0;
  };
  const int64_t images = ways_.images() / split.parts, bytes = below - split.waiting;
  if (bytes <= 0) return std::nullopt;
  const bool limited =
      0 < max_extra_flops && max_extra_flops < std::numeric_limits<double>::infinity();
  const size_t levels = limited ? kFlopLevels : 1;
  std::vector<Step> steps((split.last + 1) * levels);  // by cut and level
  steps[0].reached = true;
  const double parts = static_cast<double>(split.parts);
  const auto reach = [&](size_t begin, size_t end, bool hoped, AgainHope* again, double cost,
                         double extra_flops) {
    for (size_t level = 0; level < levels; ++level) {
      const Step& before = steps[begin * levels + level];
      if (!before.reached) continue;
      const double sum = before.cost + cost, extra = before.extra_flops + extra_flops;
      if (extra > max_extra_flops + kSameFlops) continue;
      const auto after = static_cast<size_t>(
          limited ? extra / max_extra_flops * static_cast<double>(levels) : 0.0);
      Step& step = steps[end * levels + std::min(after, levels - 1)];
      if (step.reached && step.cost <= sum) continue;
      step = {begin, level, true, hoped, again, sum, extra};
    }
  };
  const auto flops_cost = [&](double extra) {
    if (extra == 0) return 0.0;
    return max_extra_flops < std::numeric_limits<double>::infinity()
               ? extra / std::max(max_extra_flops, kSameFlops)
               : kEvaluation * extra;
  };
  const std::vector<const TilingWay*>& ways = Between(0, split.last, images);
  const std::vector<Hope> hopes = HopesWithin(max_extra_flops);
  size_t next = 0;
  for (size_t j = 1; j <= split.last; ++j) {
    for (; next < ways.size() && ways[next]->end == j; ++next) {
      const TilingWay& way = *ways[next];
      if (ValueOf(way) >= bytes && &way != rule.given) continue;
      const double extra = way.extra_flops * parts;
      reach(way.begin, j, false, nullptr, flops_cost(extra), extra);
    }
    for (size_t i = 0; i < j; ++i) {
      for (const Hope hope : hopes) {
        const auto estimate = EstimateBelow(bytes, i, j, images, hope, rule);
        if (!estimate) continue;
        const double share = static_cast<double>(*estimate) / static_cast<double>(bytes);
        reach(i, j, true, nullptr, kEvaluation + std::pow(share, kPower), 0);
      }
      if (max_extra_flops == 0) continue;
      const std::optional<int64_t> least = estimates_->OfTiles(i, j);
      if (!least || *least * images >= bytes) continue;
      for (AgainHope& hope : AgainHopes(i, j, images)) {
        if (hope.tried || hope.bytes >= bytes) continue;
        const double share = static_cast<double>(hope.bytes) / static_cast<double>(bytes);
        const double extra = hope.trial.flops * parts;
        const double cost = kEvaluation + std::pow(share, kPower) + kHopedFlops * flops_cost(extra);
        reach(i, j, true, &hope, cost, extra);
      }
    }
  }
  const auto last =
      std::min_element(steps.end() - static_cast<std::ptrdiff_t>(levels), steps.end(),
                       [](const Step& a, const Step& b) {
                         return std::pair(!a.reached, a.cost) < std::pair(!b.reached, b.cost);
                       });
  if (!last->reached) return std::nullopt;
  Hopeful hopeful;
  for (auto at = static_cast<size_t>(last - steps.begin()); at >= levels;
       at = steps[at].begin * levels + steps[at].level) {
    const size_t i = steps[at].begin, j = at / levels;
    if (!steps[at].hoped) continue;
    if (AgainHope* const hope = steps[at].again) {
      hopeful.again.push_back(hope);
      hopeful.trials.push_back(ways_.TrialOf(hope->trial, i, j, images));
      continue;
    }
    for (const Hope hope : hopes) {
      if (!EstimateBelow(bytes, i, j, images, hope, rule)) continue;
      hopeful.tried.push_back({i, j, images, hope});
      const bool lines =
          estimates_->OfLines(i, j, /*rolling=*/false, rule.skips).value() * images < bytes;
      for (TilingTrial& trial : TrialsOf(i, j, images, hope, lines)) {
        hopeful.trials.push_back(std::move(trial));
      }
    }
  }
  if (hopeful.tried.empty() && hopeful.again.empty()) return std::nullopt;
  return hopeful;
}

const TilingWay* LeastTilings::LargestOf(const Found& found) const {
  const TilingWay* largest = nullptr;
  int64_t bytes = -1;
  const auto look = [&](const TilingPath& path, int64_t waiting) {
    for (const TilingWay* way : path) {
      if (ValueOf(*way) + waiting <= bytes) continue;
      bytes = ValueOf(*way) + waiting;
      largest = way;
    }
  };
  look(found.part, found.split.waiting);
  look(found.rest, 0);
  return largest;
}

// Evaluates the largest segment of a tiling with other numbers of tiles; returns false if that was
// done before.
bool LeastTilings::Refine(const Found& found, double max_extra_flops) {
  const TilingWay* const largest = LargestOf(found);
  if (largest == nullptr || !largest->segment) return false;
  const TilingWays::Ends ends = {largest->begin, largest->end, largest->images};
  std::vector<TilingTrial> trials = ways_.Refinements(ends);
  const auto recomputes = [](const TilingTrial& trial) {
    return !IsLines(trial.kind) || (trial.segment && !trial.segment->again.empty());
  };
  if (max_extra_flops == 0) {
    std::copy_if(trials.begin(), trials.end(), std::back_inserter(later_[ends]), recomputes);
    std::erase_if(trials, recomputes);
  } else if (const auto later = later_.find(ends); later != later_.end()) {
    trials.insert(trials.end(), later->second.begin(), later->second.end());
    later_.erase(later);
  }
  const bool any = !trials.empty();
  Try(std::move(trials));
  return any;
}

void LeastTilings::Try(std::vector<TilingTrial> trials, absl::Span<const TilingTrial> next) {
  std::erase_if(trials, [&](const TilingTrial& trial) { return !ways_.Fits(trial); });
  for (const TilingTrial& trial : trials) {
    operators_ +=
        trial.count * trial.count_width * estimates_->Operators(trial.i, trial.j) * trial.images;
  }
  between_.clear();
  ways_.Try(trials, next);
}

Tiling LeastTilings::Made(const Found& found) const {
  Tiling tiling;
  const auto add = [&](const TilingPath& path) {
    for (const TilingWay* way : path) {
      if (way->segment) tiling.spec.segments.push_back(*way->segment);
    }
  };
  add(found.part);
  if (found.split.parts > 1) {
    TileSegment batch =
        ways_.SegmentBetween(0, found.split.last, TileKind::kBatch, found.split.parts);
    batch.inner = std::move(tiling.spec.segments);
    tiling.spec.segments = {std::move(batch)};
  }
  add(found.rest);
  tiling.arena_bytes = found.bytes;
  tiling.live_bytes = found.live_bytes;
  tiling.ms = found.ms;
  tiling.extra_flops = found.extra_flops;
  return tiling;
}

std::vector<Tiling> LeastTilings::Find(double max_extra_flops, int64_t below) {
  operators_ = 0;
  std::vector<Tiling> tilings;
  int again = 0;
  while (const std::optional<Found> least = Least(max_extra_flops)) {
    if (Place(*least, max_extra_flops)) continue;
    if (least->live_bytes < below) tilings.push_back(Made(*least));
    const double done = static_cast<double>(operators_) / work_;
    if (done >= kMostEvaluated) break;
    const int64_t bytes = std::min(below, least->bytes);
    const auto try_hopeful = [&](const HopeRule& rule) {
      return TryHopeful(least->split, bytes, max_extra_flops, rule) ||
             std::any_of(splits_.begin(), splits_.end(), [&](const Split& split) {
               return TryHopeful(split, bytes, max_extra_flops, rule);
             });
    };
    // Small graphs try all segments that may be smaller, at last grids whose tiles read a part of a
    // row; large ones soon the likely ones first, which are some of these.
    const bool more =
        done < kMostHoped &&
        ((operators_ > kMostOptimistic && try_hopeful({.skips = true})) || try_hopeful({}) ||
         (max_extra_flops > 0 && done < kMostGrids && try_hopeful({.parts_of_rows = true})));
    if (more || Refine(*least, max_extra_flops)) continue;
    const bool hopeless =
        static_cast<double>(least->bytes) > kHopeless * static_cast<double>(below);
    if (!hopeless && again++ < kRounds && PlaceAgain(*least)) continue;
    // Smaller segments beside the largest leave it more room.
    const double room = kRoomy * static_cast<double>(bytes);
    if (!TryHopeful(least->split, static_cast<int64_t>(room), max_extra_flops,
                    {.given = LargestOf(*least)})) {
      break;
    }
  }
  std::reverse(tilings.begin(), tilings.end());
  AddNear(max_extra_flops, below, tilings);
  return tilings;
}

// Adds tilings that are nearly as small as the smallest, because a plan may need more than is
// expected.
void LeastTilings::AddNear(double max_extra_flops, int64_t below, std::vector<Tiling>& tilings) {
  std::vector<Tiling> near;
  const std::optional<Found> least = Least(max_extra_flops);
  for (const int64_t bytes : least ? ValuesOf(least->split) : std::vector<int64_t>()) {
    if (bytes < least->bytes || near.size() >= kNearlyLeastTilings) continue;
    if (static_cast<double>(bytes) > kNearlyLeast * static_cast<double>(least->bytes)) break;
    for (const Prefer prefer : {Prefer::kFast, Prefer::kLines, Prefer::kRoomy}) {
      const auto found = Within(least->split, bytes, max_extra_flops, prefer);
      if (!found || found->live_bytes >= below) continue;
      Tiling tiling = Made(*found);
      const auto is_it = [&](const Tiling& other) { return other.spec == tiling.spec; };
      if (std::none_of(near.begin(), near.end(), is_it)) near.push_back(std::move(tiling));
    }
  }
  for (Tiling& tiling : tilings) {
    const auto is_it = [&](const Tiling& other) { return other.spec == tiling.spec; };
    if (std::none_of(near.begin(), near.end(), is_it)) near.push_back(std::move(tiling));
  }
  tilings = std::move(near);
}

}  // namespace ashlar
