// The search for tilings, by the estimates of time_estimate.h and without planning: for each split
// of the batch, dynamic programming over the cuts of the graph, which keeps for each cut the
// tilings none of which is both larger and slower than another (the Pareto front). Segments are
// first tried between a few of the cuts; then, by local search, the step that needs most in the
// smallest tiling is tried with its borders moved, split, and merged with its neighbours, at any
// cut.
#include "runtime/plan/tiling_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/exact_tilings.h"
#include "runtime/plan/graph_cuts.h"
#include "runtime/plan/parallel_for.h"
#include "runtime/plan/rewrite.h"
#include "runtime/plan/tiling_trials.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/part_storage.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

constexpr size_t kMaxCuts = 16;       // between which segments are tried first
constexpr int kFewOperators = 24;     // of graphs between whose cuts all kinds of tiles are tried
constexpr int64_t kMaxStrips = 128;   // of one segment
constexpr int64_t kFirstStrips = 32;  // at most, when it is tried for the first time
constexpr int kRefinements = 2;
// Of local search over borders: rounds, and operators of the tiled graphs that it looks at.
constexpr int kBorderRounds = 24;
constexpr int64_t kBorderOperators = 20000;
constexpr double kNormOrders[] = {8, 2};
constexpr double kLittle = 1e-6;
constexpr size_t kExtended = 24;  // tilings of a small graph to which a second segment is added
constexpr double kNearPeak = 0.95;
// Over what the smallest tiling is expected to need: others that may have the smallest plan.
constexpr double kNearlySmallest = 1.25;
// A slower tiling has to be that much smaller.
constexpr double kWorthWhile = 0.97;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;  // bytes

// One way to execute the nodes between two cuts.
struct Option {
  size_t begin = 0, end = 0;           // of Search::cuts_
  std::optional<TileSegment> segment;  // none: as it is
  int64_t bytes = 0;                   // peak of one part; kNever where it cannot be
  double ms = 0;
  double flops = 0;  // computed again
};

std::vector<int> AllNodes(const Graph& graph) {
  std::vector<int> nodes(graph.nodes().size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
  return nodes;
}

// None of these is slower than another without being noticeably smaller; the fastest first, and the
// largest.
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

// Whether images are tiled alike, and only where the batch is joined again differs: then the plans
// differ by the tensors that wait there, which the estimate has to the byte.
bool AreTiledAlike(const TileSpec& a, const TileSpec& b) {
  const auto is_batch = [](const TileSpec& spec) {
    return spec.segments.size() == 1 && spec.segments[0].kind == TileKind::kBatch;
  };
  return is_batch(a) && is_batch(b) && a.segments[0].count == b.segments[0].count &&
         a.segments[0].inner == b.segments[0].inner;
}

class Search {
 public:
  Search(const Graph& graph, absl::Span<const int> order, const TilingLimits& limits,
         const ProcessorSpeed& speed, const ArenaModel& arena)
      : graph_(graph),
        order_(order),
        limits_(limits),
        speed_(speed),
        arena_(arena),
        model_(BuildStorageModel(graph, arena.storage)),
        cuts_(FindCuts(graph, order)),
        flops_(WeightFlops(graph)) {}

  absl::StatusOr<FoundTilings> Run() {
    Tiling whole;
    whole.arena_bytes = SimulatePeak(graph_, model_, order_, arena_.workspace(graph_, model_));
    whole.ms = EstimateTime(graph_, model_, speed_);
    found_.push_back(whole);
    if (cuts_.size() >= 2) {
      const Shape& shape = graph_.var(cuts_[0].var).type.shape;
      images_ = shape.rank() > 0 ? shape[0] : 1;
      few_ = CountOperators(graph_) <= kFewOperators && cuts_.size() <= kMaxCuts;
      ChooseFirst();
      TrySegments();
      if (few_) Try(TrialsOfAllKinds(graph_, cuts_, images_, limits_.ebb));
      if (few_ && graph_.outputs().size() > 1) Try(TrialsOfBranches(graph_, cuts_, images_));
      TryAllParts();
      // Segments that turned out to be of use are tried in other numbers of strips.
      for (int round = 0; round < kRefinements; ++round) {
        std::vector<Tiling> useful = BestOf(found_);
        for (Tiling& tiling : Smallest()) useful.push_back(std::move(tiling));
        RefineUsed(useful);
        TryAllParts();
      }
    }
    if (few_) TryExactly();
    FoundTilings found{BestOf(found_), Smallest(), {}, {}, {}};
    if (cuts_.size() >= 2 && !few_ && limits_.move_borders) {
      found_.resize(1);
      if (MoveBorders(found.smallest[0])) TryAllParts();
      if (found_.size() > 1) found.moved = Smallest();
    }
    for (const GraphCut& cut : cuts_) found.cuts.push_back(IdOf(cut));
    found.ways = Ways();
    return found;
  }

 private:
  using Path = std::vector<const Option*>;

  int64_t BytesOf(const GraphCut& cut) const { return graph_.var(cut.var).type.bytes(); }
  int IdOf(const GraphCut& cut) const { return ashlar::IdOf(graph_, cut); }
  bool IsInput(const GraphCut& cut) const {
    return graph_.node(graph_.var(cut.var).producer).op->role() == Role::kInput;
  }
  bool IsOutput(const GraphCut& cut) const {
    return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                       [&](const Binding& output) { return output.var == cut.var; });
  }
  // The caller's tensors are not in the arena.
  int64_t ArenaBytesOf(const GraphCut& cut) const {
    return IsInput(cut) || IsOutput(cut) ? 0 : BytesOf(cut);
  }

  // Cuts that are no larger than their neighbours: what lies whole between segments should be
  // small.
  void ChooseFirst() {
    std::vector<size_t> small;
    for (size_t i = 0; i < cuts_.size(); ++i) {
      const bool end = i == 0 || i + 1 == cuts_.size();
      if (end || few_ ||
          (BytesOf(cuts_[i]) <= BytesOf(cuts_[i - 1]) &&
           BytesOf(cuts_[i]) <= BytesOf(cuts_[i + 1]))) {
        small.push_back(i);
      }
    }
    const size_t count = std::min(small.size(), kMaxCuts);
    for (size_t i = 0; i < count; ++i) {
      first_.push_back(small[i * (small.size() - 1) / std::max<size_t>(count - 1, 1)]);
    }
  }

  void TryAllParts() {
    for (int64_t parts = 1; parts <= images_; ++parts) {
      if (images_ % parts == 0) TryParts(parts);
    }
  }

  // Segments of these tilings, in other numbers of tiles: each once.
  void RefineUsed(const std::vector<Tiling>& tilings) {
    std::set<std::pair<int, int>> used;  // ids of the ends
    for (const Tiling& tiling : tilings) {
      for (const TileSegment& segment : tiling.spec.segments) {
        const bool lines = segment.kind == TileKind::kLines || segment.kind == TileKind::kEbb;
        if (lines) used.insert({segment.from, segment.to});
        for (const TileSegment& inner : segment.inner) used.insert({inner.from, inner.to});
      }
    }
    std::vector<TilingTrial> trials;
    for (const auto& [ends, options] : options_) {
      const auto& [i, j, images] = ends;
      if (!used.contains({IdOf(cuts_[i]), IdOf(cuts_[j])}) || !refined_.insert(ends).second) {
        continue;
      }
      for (TilingTrial& trial : RefinedTrials(graph_, cuts_, i, j, images, limits_.ebb)) {
        trials.push_back(std::move(trial));
      }
    }
    Try(trials);
  }

  TilingTrial FirstTrial(size_t i, size_t j, int64_t images) const {
    const int64_t strips = std::min({2 * RowsOf(graph_.var(cuts_[j].var).type),
                                     RowsOf(graph_.var(cuts_[i].var).type), kFirstStrips});
    return {i, j, TileKind::kLines, strips, 1, images};
  }

  // Each segment between two of the first cuts in strips, for a first look.
  void TrySegments() {
    std::vector<TilingTrial> trials;
    for (const size_t j : first_) {
      for (const size_t i : first_) {
        if (i >= j) break;
        // Nothing is gained where the ends alone are as large as all that happens between them.
        const int64_t ends = (ArenaBytesOf(cuts_[i]) + BytesOf(cuts_[j])) / images_;
        if (ends >= AsItIsPeak(i, j)) continue;
        trials.push_back(FirstTrial(i, j, 1));
      }
    }
    Try(trials);
  }

  // Around the step that needs most in the smallest tiling of this kind, segments between other
  // cuts; as long as there are new ones and few were looked at. Whether there were any.
  bool MoveBorders(const Tiling& smallest) {
    const auto& segments = smallest.spec.segments;
    const bool batch = !segments.empty() && segments[0].kind == TileKind::kBatch;
    const int64_t images = batch ? images_ / segments[0].count : images_;
    size_t last = cuts_.size() - 1;
    while (batch && last > 1 && IdOf(cuts_[last]) != segments[0].to) --last;
    int64_t operators = 0;
    bool any = false;
    for (int round = 0; round < kBorderRounds && operators < kBorderOperators; ++round) {
      const Path path = SmallestPath(last, images);
      const size_t worst = static_cast<size_t>(
          std::max_element(path.begin(), path.end(),
                           [](const Option* a, const Option* b) { return a->bytes < b->bytes; }) -
          path.begin());
      if (worst == path.size()) break;
      std::vector<TilingTrial> trials;
      for (const auto& [i, j] : BordersNear(path, worst, last)) {
        if (!refined_.insert({i, j, images}).second) continue;
        if (!options_.contains({i, j, images})) trials.push_back(FirstTrial(i, j, images));
        for (TilingTrial& trial : RefinedTrials(graph_, cuts_, i, j, images, limits_.ebb)) {
          trials.push_back(std::move(trial));
        }
      }
      if (trials.empty()) break;
      for (const TilingTrial& trial : trials) {
        if (trial.kind == TileKind::kEbb) continue;  // the same operators as in lines
        operators +=
            trial.count * trial.count_width * (cuts_[trial.j].position - cuts_[trial.i].position);
      }
      Try(trials);
      any = true;
    }
    return any;
  }

  // Ends of segments in the place of a step of `path` and of its neighbours: with their border at
  // the cut before or behind, or split at any, or merged.
  std::set<std::pair<size_t, size_t>> BordersNear(const Path& path, size_t step,
                                                  size_t last) const {
    const size_t i = path[step]->begin, j = path[step]->end;
    const size_t h = step > 0 ? path[step - 1]->begin : i;
    const size_t k = step + 1 < path.size() ? path[step + 1]->end : j;
    std::set<std::pair<size_t, size_t>> ends;
    const auto add = [&](size_t begin, size_t end) {
      if (begin < end && end <= last) ends.insert({begin, end});
    };
    for (const size_t begin : {i - std::min<size_t>(i, 1), i, i + 1}) {
      add(h, begin);
      for (const size_t end : {j - 1, j, j + 1}) add(begin, end);
    }
    for (const size_t begin : {j - 1, j, j + 1}) add(begin, k);
    add(h, j);
    add(i, k);
    add(h, k);
    for (size_t m = i + 1; m < j; ++m) {
      add(i, m);
      add(m, j);
    }
    return ends;
  }

  // Adds the worth of the trials to options_.
  void Try(absl::Span<const TilingTrial> trials) {
    std::vector<std::optional<Option>> options(trials.size());
    ParallelFor(trials.size(), [&](size_t k) {
      const TilingTrial& trial = trials[k];
      const GraphCut &from = cuts_[trial.i], &to = cuts_[trial.j];
      const bool lines = trial.kind == TileKind::kLines || trial.kind == TileKind::kEbb;
      const int64_t rows = RowsOf(graph_.var((lines ? from : to).var).type);
      const bool fits = trial.count >= 2 && trial.count <= std::min(rows, kMaxStrips);
      if (!fits && !trial.segment) return;
      options[k] = Tiled(from, to, trial);
    });
    for (size_t k = 0; k < trials.size(); ++k) {
      if (!options[k] || options[k]->flops > limits_.max_extra_flops * flops_) continue;
      options[k]->begin = trials[k].i;
      options[k]->end = trials[k].j;
      options_[{trials[k].i, trials[k].j, trials[k].images}].push_back(*std::move(options[k]));
    }
  }

  // The peak of a graph between two cuts (GraphBetween) for so many images, in its order. In a part
  // of the batch the caller's output is a tensor of the arena, from which it is copied.
  int64_t PeakOf(const Graph& part, const GraphCut& from, const GraphCut& to, int64_t images,
                 const TileSpec& tiles) const {
    const bool released = IsInput(from) && arena_.storage.release_inputs;
    const StorageModel model = BuildPartStorageModel(
        part, StorageFor(tiles, arena_.storage),
        {!IsInput(from) || released, !IsOutput(to) || images < images_, released});
    return ScheduleAsGiven(part, model, arena_.workspace(part, model)).peak_bytes;
  }

  // The nodes between two cuts untiled, for so many images.
  Option AsItIs(const GraphCut& from, const GraphCut& to, int64_t images) {
    Option option;
    if (const auto part = GraphBetween(graph_, order_, from, to, images); part.ok()) {
      option.bytes = PeakOf(*part, from, to, images, {});
    } else if (images < images_) {
      // It names the number of images; tiles rewrite that.
      option.bytes = AsItIs(from, to, images_).bytes / images_ * images;
    } else {
      option.bytes = kNever;
    }
    const double share = static_cast<double>(images) / static_cast<double>(images_);
    for (int i = from.position + 1; i <= to.position; ++i) {
      option.ms += EstimateOperator(graph_, model_, order_[i], speed_, share);
    }
    return option;
  }

  // The same executed as `trial` says; nullopt where it cannot be.
  std::optional<Option> Tiled(const GraphCut& from, const GraphCut& to,
                              const TilingTrial& trial) const {
    const absl::StatusOr<Graph> part = GraphBetween(graph_, order_, from, to, trial.images);
    if (!part.ok()) return std::nullopt;
    Option option;
    option.segment = trial.segment.value_or(
        TileSegment{IdOf(from), IdOf(to), trial.kind, trial.count, trial.count_width, {}});
    const absl::StatusOr<Graph> tiled =
        Tile(*part, {{*option.segment}}, AllNodes(*part), Operators());
    if (!tiled.ok()) return std::nullopt;
    const TileSpec tiles = {{*option.segment}};
    option.bytes = PeakOf(*tiled, from, to, trial.images, tiles);
    option.ms =
        EstimateTime(*tiled, BuildStorageModel(*tiled, StorageFor(tiles, arena_.storage)), speed_);
    option.flops = std::max(0.0, WeightFlops(*tiled) - WeightFlops(*part));
    return option;
  }

  // Ways between two of cuts_ from `first` to `last` for so many images, by their ends.
  std::vector<const Option*> Between(size_t first, size_t last, int64_t images) {
    std::vector<const Option*> ways;
    for (size_t i = first; i < last; ++i) ways.push_back(&Whole(i, images));
    for (const auto& [ends, options] : options_) {
      const auto& [i, j, some] = ends;
      if (i < first || j > last || some != images) continue;
      for (const Option& option : options) ways.push_back(&option);
    }
    std::stable_sort(ways.begin(), ways.end(), [](const Option* a, const Option* b) {
      return std::pair(a->end, a->begin) < std::pair(b->end, b->begin);
    });
    return ways;
  }

  // Of one image.
  int64_t AsItIsPeak(size_t first, size_t last) {
    int64_t peak = 0;
    for (size_t i = first; i < last; ++i) peak = std::max(peak, Whole(i, images_).bytes);
    return peak / images_;
  }

  struct Step {
    size_t from = 0;
    const Option* option = nullptr;
    double cost = 0, flops = 0;
    bool reached = false;
  };

  // Of `ways` (Between) from cut `first` of cuts_ to `last` those whose steps cost least in all,
  // each of them no more than `budget` bytes; empty where there is no way.
  Path Cheapest(size_t first, size_t last, int64_t images, absl::Span<const Option* const> ways,
                int64_t budget, absl::FunctionRef<double(const Option&)> cost) const {
    std::vector<Step> steps(last + 1);
    steps[first].reached = true;
    for (const Option* const option : ways) {
      const Step& before = steps[option->begin];
      Step& step = steps[option->end];
      if (option->bytes > budget || !before.reached) continue;
      const double sum = before.cost + cost(*option), flops = before.flops + option->flops;
      if (step.reached && step.cost <= sum) continue;
      if (flops * static_cast<double>(images_ / images) > limits_.max_extra_flops * flops_) {
        continue;
      }
      step = {option->begin, option, sum, flops, true};
    }
    Path path;
    if (!steps[last].reached) return path;
    for (size_t j = last; j > first; j = steps[j].from) path.push_back(steps[j].option);
    std::reverse(path.begin(), path.end());
    return path;
  }

  // The way to a cut with the smallest peak, the fastest of these.
  Path SmallestPath(size_t last, int64_t images) {
    const std::vector<const Option*> ways = Between(0, last, images);
    for (const int64_t budget : Budgets(ways)) {
      Path path = Cheapest(0, last, images, ways, budget, [](const Option& o) { return o.ms; });
      if (!path.empty()) return path;
    }
    return {};
  }

  const Option& Whole(size_t i, int64_t images) {
    const auto [entry, is_new] = whole_.try_emplace({i, images});
    if (is_new) {
      entry->second = AsItIs(cuts_[i], cuts_[i + 1], images);
      entry->second.begin = i;
      entry->second.end = i + 1;
    }
    return entry->second;
  }

  // Whether every operator up to a cut makes a part of the batch from a part of its inputs: one
  // that does not, or that has several outputs, ends what is executed in parts.
  bool SplitsBatch(size_t last) {
    const auto [entry, is_new] = splits_batch_.try_emplace(last);
    if (is_new) {
      const TileSegment halves{IdOf(cuts_[0]), IdOf(cuts_[last]), TileKind::kBatch, 2, 1, {}};
      entry->second = Tile(graph_, {{halves}}, order_, Operators()).ok();
    }
    return entry->second;
  }

  static int64_t PeakOf(const Path& path) {
    int64_t bytes = 0;
    for (const Option* option : path) bytes = std::max(bytes, option->bytes);
    return bytes;
  }

  // Every peak that some step can have.
  static std::set<int64_t> Budgets(absl::Span<const Option* const> ways) {
    std::set<int64_t> budgets;
    for (const Option* const option : ways) {
      if (option->bytes < kNever) budgets.insert(option->bytes);
    }
    return budgets;
  }

  // With the batch in `parts` up to a cut: what was made waits for the last of them and, of an
  // input that was given up, what is still to be read for the first.
  int64_t WaitingBytes(int64_t parts, const GraphCut& last) const {
    const int64_t read = arena_.storage.release_inputs ? BytesOf(cuts_[0]) : 0;
    return std::max(BytesOf(last), read) / parts * (parts - 1);
  }

  // Splits the batch into `parts` up to each cut in turn.
  void TryParts(int64_t parts) {
    const size_t end = cuts_.size() - 1;
    for (const size_t last : first_) {
      if (last == 0 || (parts == 1 && last < end)) continue;
      if (parts > 1 && !SplitsBatch(last)) break;
      // The nodes behind the cut, for all images.
      std::vector<Path> rests = {{}};
      if (last < end) rests = PathsWithin(last, end, images_);
      if (rests.empty() || PeakOf(rests[0]) > found_[0].arena_bytes) continue;
      const int64_t waiting = WaitingBytes(parts, cuts_[last]);
      const std::vector<Path> paths = PathsWithin(0, last, images_ / parts);
      for (const Path& path : paths) {
        // The last that is no larger, or the smallest.
        const auto rest = std::find_if(rests.rbegin(), std::prev(rests.rend()), [&](const Path& r) {
          return PeakOf(r) <= PeakOf(path) + waiting;
        });
        Add(path, parts, cuts_[last], waiting, *rest);
      }
      if (paths.empty()) continue;
      for (const Path& path : Roomy(last, images_ / parts, PeakOf(paths[0]))) {
        Add(path, parts, cuts_[last], waiting, rests[0]);
      }
    }
  }

  // The fastest between two of cuts_ within each budget, the smallest first.
  std::vector<Path> PathsWithin(size_t first, size_t last, int64_t images) {
    std::vector<Path> paths;
    const std::vector<const Option*> ways = Between(first, last, images);
    for (const int64_t budget : Budgets(ways)) {
      if (!paths.empty() && budget <= PeakOf(paths.back())) continue;
      Path path = Cheapest(first, last, images, ways, budget, [](const Option& o) { return o.ms; });
      if (!path.empty()) paths.push_back(std::move(path));
    }
    return paths;
  }

  // Ways within the smallest peak that leave room beside it, where a plan has fewer gaps: the
  // fastest with the fewest steps near the peak, those whose steps are small (a norm of high order
  // weighs the largest of them most), and the one that computes least again, whose strips keep more
  // but hold less in between.
  std::vector<Path> Roomy(size_t last, int64_t images, int64_t peak) {
    const auto share = [&](const Option& option) {
      return static_cast<double>(option.bytes) / static_cast<double>(std::max<int64_t>(1, peak));
    };
    const double slowest = 1e3 * (1 + found_[0].ms);
    const std::vector<const Option*> ways = Between(0, last, images);
    std::vector<Path> paths = {Cheapest(0, last, images, ways, peak, [&](const Option& o) {
      return o.ms + (share(o) > kNearPeak ? slowest : 0);
    })};
    for (const double order : kNormOrders) {
      paths.push_back(Cheapest(0, last, images, ways, peak,
                               [&](const Option& o) { return std::pow(share(o), order); }));
    }
    const double all = std::max(1.0, flops_);
    paths.push_back(Cheapest(0, last, images, ways, peak,
                             [&](const Option& o) { return o.flops / all + kLittle * share(o); }));
    return paths;
  }

  // The batch in `parts` up to `last`, where `waiting` bytes wait for the last of them, then
  // `rest`.
  void Add(const Path& path, int64_t parts, const GraphCut& last, int64_t waiting,
           const Path& rest) {
    if (path.empty()) return;
    Tiling tiling;
    double flops = 0;
    const auto add = [&](const Path& options, int64_t times) {
      for (const Option* option : options) {
        if (option->segment) tiling.spec.segments.push_back(*option->segment);
        tiling.ms += option->ms * static_cast<double>(times);
        flops += option->flops * static_cast<double>(times);
      }
    };
    add(path, parts);
    if (parts > 1) {
      TileSegment batch{IdOf(cuts_[0]), IdOf(last), TileKind::kBatch,
                        parts,          1,          std::move(tiling.spec.segments)};
      tiling.spec.segments = {std::move(batch)};
    }
    add(rest, 1);
    tiling.arena_bytes = std::max(PeakOf(path) + waiting, PeakOf(rest));
    tiling.extra_flops = flops_ > 0 ? flops / flops_ : 0;
    if (tiling.extra_flops <= limits_.max_extra_flops) found_.push_back(std::move(tiling));
  }

  std::vector<Tiling> Exactly(const std::vector<TileSpec>& specs) const {
    return ExactTilings(graph_, order_, specs, limits_, speed_, arena_);
  }

  // Of a small graph all that was found, and with the batch split each segment in its tiles, the
  // best of these also with a second one: in place of the one found by estimates.
  void TryExactly() {
    std::vector<TileSpec> specs;
    const auto add = [&](const TileSpec& spec) {
      if (!spec.empty() && std::find(specs.begin(), specs.end(), spec) == specs.end()) {
        specs.push_back(spec);
      }
    };
    for (const Tiling& tiling : found_) add(tiling.spec);
    std::vector<Tiling> exact = Exactly(specs);
    size_t last = images_ > 1 ? 1 : 0;
    while (last > 0 && last + 1 < cuts_.size() && SplitsBatch(last + 1)) ++last;
    if (last > 0 && SplitsBatch(last)) {
      std::vector<TileSegment> segments;
      for (const auto& [ends, options] : options_) {
        if (std::get<1>(ends) > last || std::get<2>(ends) != 1) continue;
        for (const Option& option : options) segments.push_back(*option.segment);
      }
      TileSegment batch{IdOf(cuts_[0]), IdOf(cuts_[last]), TileKind::kBatch, images_, 1, {}};
      specs.clear();
      for (const TileSegment& segment : segments) {
        batch.inner = {segment};
        add({{batch}});
      }
      std::vector<Tiling> best = Exactly(specs);
      exact.insert(exact.end(), best.begin(), best.end());
      std::stable_sort(best.begin(), best.end(), [](const Tiling& a, const Tiling& b) {
        return a.arena_bytes < b.arena_bytes;
      });
      best.resize(std::min(best.size(), kExtended));
      specs.clear();
      for (const Tiling& tiling : best) {
        const TileSegment first = tiling.spec.segments[0].inner[0];
        for (const TileSegment& segment : segments) {
          if (segment.from >= first.to) {
            batch.inner = {first, segment};
          } else if (segment.to <= first.from) {
            batch.inner = {segment, first};
          } else {
            continue;
          }
          add({{batch}});
        }
      }
      for (Tiling& tiling : Exactly(specs)) exact.push_back(std::move(tiling));
    }
    found_.resize(1);
    for (Tiling& tiling : exact) found_.push_back(std::move(tiling));
  }

  std::vector<Tiling> Smallest() {
    std::vector<Tiling> smallest = found_;
    std::stable_sort(smallest.begin(), smallest.end(), [](const Tiling& a, const Tiling& b) {
      return std::pair(a.arena_bytes, a.ms) < std::pair(b.arena_bytes, b.ms);
    });
    const double most = few_ ? std::numeric_limits<double>::infinity()
                             : kNearlySmallest * static_cast<double>(smallest[0].arena_bytes);
    std::vector<Tiling> result;
    for (Tiling& tiling : smallest) {
      if (static_cast<double>(tiling.arena_bytes) > most) break;
      // Equal in both: the same, or ends in other copies.
      const bool known = std::any_of(result.begin(), result.end(), [&](const Tiling& other) {
        return few_ ? other.spec == tiling.spec
                    : other.spec == tiling.spec || AreTiledAlike(other.spec, tiling.spec);
      });
      if (!known) result.push_back(std::move(tiling));
    }
    return result;
  }

  // All that is known of what lies between cuts.
  std::vector<TilingWay> Ways() const {
    std::vector<TilingWay> ways;
    const auto add = [&](size_t i, size_t j, int64_t images, const Option& option) {
      if (option.bytes >= kNever) return;
      ways.push_back({i, j, images, option.segment, option.bytes, option.ms,
                      flops_ > 0 ? option.flops / flops_ : 0});
    };
    for (const auto& [at, option] : whole_) add(at.first, at.first + 1, at.second, option);
    for (const auto& [ends, options] : options_) {
      const auto& [i, j, images] = ends;
      for (const Option& option : options) add(i, j, images, option);
    }
    return ways;
  }

  const Graph& graph_;
  const absl::Span<const int> order_;
  const TilingLimits limits_;
  const ProcessorSpeed speed_;
  const ArenaModel& arena_;
  const StorageModel model_;
  const std::vector<GraphCut> cuts_;
  const double flops_;
  int64_t images_ = 1;
  bool few_ = false;           // kFewOperators
  std::vector<size_t> first_;  // of cuts_: between which segments are tried first
  // By two cuts and images.
  std::map<std::tuple<size_t, size_t, int64_t>, std::vector<Option>> options_;
  std::set<std::tuple<size_t, size_t, int64_t>> refined_;
  std::map<std::pair<size_t, int64_t>, Option> whole_;  // by cut and images
  std::map<size_t, bool> splits_batch_;                 // by cut
  std::vector<Tiling> found_;
};

}  // namespace

StorageOptions StorageFor(const TileSpec& spec, const StorageOptions& whole) {
  StorageOptions options = whole;
  options.parts = options.parts || spec.Has(TileKind::kEbb);
  return options;
}

absl::StatusOr<FoundTilings> SearchTilings(const Graph& graph, absl::Span<const int> order,
                                           const TilingLimits& limits, const ProcessorSpeed& speed,
                                           const ArenaModel& arena) {
  return Search(graph, order, limits, speed, arena).Run();
}

}  // namespace ashlar
