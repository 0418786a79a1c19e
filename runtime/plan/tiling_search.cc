// The search for tilings, by the estimates of time_estimate.h and without planning: for each split
// of the batch, dynamic programming over the cuts of the graph, which keeps for each cut the
// tilings none of which is both larger and slower than another (the Pareto front).
#include "runtime/plan/tiling_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/graph_cuts.h"
#include "runtime/plan/parallel_for.h"
#include "runtime/plan/rewrite.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

constexpr size_t kMaxCuts = 16;       // between which segments are tried
constexpr int64_t kMaxStrips = 128;   // of one segment
constexpr int64_t kFirstStrips = 32;  // at most, when it is tried for the first time
// Over what the smallest tiling is expected to need: others that may have the smallest plan.
constexpr double kNearlySmallest = 1.25;
// What is slower has to be that much smaller.
constexpr double kWorthWhile = 0.97;

// One way to execute what lies between two cuts.
struct Option {
  std::optional<TileSegment> segment;  // none: as it is
  int64_t bytes = 0;                   // peak of one part
  double ms = 0;
  double flops = 0;  // computed again
};

// Bytes live at each position of the order.
std::vector<int64_t> LiveBytes(const Graph& graph, const StorageModel& model,
                               absl::Span<const int> order) {
  const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
  ArenaSimulator arena(graph, model, no_workspace);
  std::vector<int64_t> live;
  for (int node : order) live.push_back(arena.Run(node));
  return live;
}

std::vector<int> AllNodes(const Graph& graph) {
  std::vector<int> nodes(graph.nodes().size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
  return nodes;
}

// The largest number of strips in which an image can be made.
int64_t Rows(const TensorType& type) { return type.shape.rank() == 4 ? type.shape[2] : 0; }

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

class Search {
 public:
  Search(const Graph& graph, absl::Span<const int> order, const TilingLimits& limits,
         const ProcessorSpeed& speed)
      : graph_(graph),
        order_(order),
        limits_(limits),
        speed_(speed),
        model_(BuildStorageModel(graph, {})),
        live_(LiveBytes(graph, model_, order)),
        all_cuts_(FindCuts(graph, order)),
        flops_(WeightFlops(graph)) {}

  absl::StatusOr<FoundTilings> Run() {
    Tiling whole;
    for (int64_t bytes : live_) whole.arena_bytes = std::max(whole.arena_bytes, bytes);
    whole.ms = EstimateTime(graph_, model_, speed_);
    found_.push_back(whole);
    if (all_cuts_.size() >= 2) {
      images_ = graph_.var(all_cuts_[0].var).type.shape.rank() > 0
                    ? graph_.var(all_cuts_[0].var).type.shape[0]
                    : 1;
      ChooseCuts();
      TrySegments();
      TryAllParts();
      // Segments that turned out to be of use are tried in other numbers of strips.
      RefineUsed(BestOf(found_));
      TryAllParts();
    }
    return FoundTilings{BestOf(found_), Smallest()};
  }

 private:
  int64_t BytesOf(const GraphCut& cut) const { return graph_.var(cut.var).type.bytes(); }
  int IdOf(const GraphCut& cut) const { return graph_.node(graph_.var(cut.var).producer).id; }
  // The caller's tensors are not in the arena.
  int64_t ArenaBytesOf(const GraphCut& cut) const {
    if (graph_.node(graph_.var(cut.var).producer).op->role() == Role::kInput) return 0;
    for (const Binding& output : graph_.outputs()) {
      if (output.var == cut.var) return 0;
    }
    return BytesOf(cut);
  }

  // Cuts that are no larger than their neighbours: what lies whole between segments should be
  // small.
  void ChooseCuts() {
    std::vector<GraphCut> small;
    for (size_t i = 0; i < all_cuts_.size(); ++i) {
      const bool end = i == 0 || i + 1 == all_cuts_.size();
      if (end || (BytesOf(all_cuts_[i]) <= BytesOf(all_cuts_[i - 1]) &&
                  BytesOf(all_cuts_[i]) <= BytesOf(all_cuts_[i + 1]))) {
        small.push_back(all_cuts_[i]);
      }
    }
    const size_t count = std::min(small.size(), kMaxCuts);
    for (size_t i = 0; i < count; ++i) {
      cuts_.push_back(small[i * (small.size() - 1) / std::max<size_t>(count - 1, 1)]);
    }
  }

  void TryAllParts() {
    for (int64_t parts = 1; parts <= images_; ++parts) {
      if (images_ % parts == 0) TryParts(parts);
    }
  }

  void RefineUsed(const std::vector<Tiling>& tilings) {
    std::set<std::pair<int, int>> used;  // ids of the ends
    for (const Tiling& tiling : tilings) {
      for (const TileSegment& segment : tiling.spec.segments) {
        if (segment.kind == TileKind::kLines) used.insert({segment.from, segment.to});
        for (const TileSegment& inner : segment.inner) used.insert({inner.from, inner.to});
      }
    }
    std::vector<Trial> trials;
    for (const auto& [ends, options] : options_) {
      const auto& [i, j] = ends;
      if (!used.contains({IdOf(cuts_[i]), IdOf(cuts_[j])})) continue;
      const int64_t rows = Rows(graph_.var(cuts_[j].var).type);
      for (const int64_t strips : {rows / 4, rows / 2, rows, 2 * rows, 4 * rows, 8 * rows}) {
        trials.push_back({i, j, TileKind::kLines, strips, 1});
      }
      // Without lines to be kept, but with rows computed twice.
      for (const int64_t strips : {2, 3, 4}) {
        trials.push_back({i, j, TileKind::kRows, strips, 1});
        trials.push_back({i, j, TileKind::kGrid, strips, strips});
      }
    }
    Try(trials);
  }

  // What lies between two of cuts_ in tiles.
  struct Trial {
    size_t i = 0, j = 0;
    TileKind kind = TileKind::kLines;
    int64_t count = 0, count_width = 1;
  };

  // Each segment between two cuts in strips, for a first look.
  void TrySegments() {
    std::vector<Trial> trials;
    for (size_t j = 1; j < cuts_.size(); ++j) {
      for (size_t i = 0; i < j; ++i) {
        // Nothing is gained where the ends alone are as large as all that happens between them.
        const int64_t ends = (ArenaBytesOf(cuts_[i]) + BytesOf(cuts_[j])) / images_;
        if (ends >= AsItIsPeak(cuts_[i], cuts_[j])) continue;
        const int64_t strips = std::min({2 * Rows(graph_.var(cuts_[j].var).type),
                                         Rows(graph_.var(cuts_[i].var).type), kFirstStrips});
        trials.push_back({i, j, TileKind::kLines, strips, 1});
      }
    }
    Try(trials);
  }

  // Adds to options_ what the trials are worth.
  void Try(absl::Span<const Trial> trials) {
    std::vector<std::optional<Option>> options(trials.size());
    ParallelFor(trials.size(), [&](size_t k) {
      const Trial& trial = trials[k];
      const GraphCut &from = cuts_[trial.i], &to = cuts_[trial.j];
      const bool lines = trial.kind == TileKind::kLines;
      const int64_t rows = Rows(graph_.var((lines ? from : to).var).type);
      if (trial.count < 2 || trial.count > std::min(rows, kMaxStrips)) return;
      options[k] = Tiled(from, to, trial.kind, trial.count, trial.count_width);
    });
    for (size_t k = 0; k < trials.size(); ++k) {
      if (!options[k] || options[k]->flops > limits_.max_extra_flops * flops_) continue;
      options_[{trials[k].i, trials[k].j}].push_back(*std::move(options[k]));
    }
  }

  // The peak of what lies between two cuts as it is, for so many images.
  Option AsItIs(const GraphCut& from, const GraphCut& to, int64_t images) {
    Option option;
    for (int i = from.position + 1; i <= to.position; ++i) {
      option.bytes = std::max(option.bytes, live_[i]);
    }
    option.bytes = option.bytes / images_ * images;
    const double share = static_cast<double>(images) / static_cast<double>(images_);
    for (int i = from.position + 1; i <= to.position; ++i) {
      option.ms += EstimateOperator(graph_, model_, order_[i], speed_, share);
    }
    return option;
  }

  // The same executed as `kind` says; nullopt where it cannot be.
  std::optional<Option> Tiled(const GraphCut& from, const GraphCut& to, TileKind kind,
                              int64_t count, int64_t count_width) const {
    const absl::StatusOr<Graph> part = GraphBetween(graph_, order_, from, to, 1);
    if (!part.ok()) return std::nullopt;
    Option option;
    option.segment = TileSegment{IdOf(from), IdOf(to), kind, count, count_width, {}};
    const absl::StatusOr<Graph> tiled =
        Tile(*part, {{*option.segment}}, AllNodes(*part), Operators());
    if (!tiled.ok()) return std::nullopt;
    const StorageModel model = BuildStorageModel(*tiled, {});
    const std::vector<int64_t> no_workspace(tiled->nodes().size(), 0);
    option.bytes =
        ScheduleAsGiven(*tiled, model, no_workspace).peak_bytes + ArenaBytesOf(from) / images_;
    option.ms = EstimateTime(*tiled, model, speed_);
    option.flops = std::max(0.0, WeightFlops(*tiled) - WeightFlops(*part));
    return option;
  }

  // Ways between cuts `i` and `j` of cuts_ for one image.
  const std::vector<Option>& Between(size_t i, size_t j) const {
    static const std::vector<Option> none;
    const auto entry = options_.find({i, j});
    return entry == options_.end() ? none : entry->second;
  }

  int64_t AsItIsPeak(const GraphCut& from, const GraphCut& to) const {
    int64_t peak = 0;
    for (int i = from.position + 1; i <= to.position; ++i) peak = std::max(peak, live_[i]);
    return peak / images_;
  }

  struct Step {
    size_t from = 0;
    const Option* option = nullptr;
    double ms = 0, flops = 0;
    bool reached = false;
  };

  // The fastest way from the first of cuts_ to `last` for `images` images, none of whose steps
  // needs more than `budget`; empty where there is none.
  std::vector<const Option*> Fastest(size_t last, int64_t images, int64_t budget) {
    std::vector<Step> steps(last + 1);
    steps[0].reached = true;
    for (size_t j = 1; j <= last; ++j) {
      for (size_t i = 0; i < j; ++i) {
        if (!steps[i].reached) continue;
        const auto take = [&](const Option& option) {
          const double ms = steps[i].ms + option.ms, flops = steps[i].flops + option.flops;
          if (option.bytes > budget || (steps[j].reached && steps[j].ms <= ms)) return;
          if (flops * static_cast<double>(images_ / images) > limits_.max_extra_flops * flops_) {
            return;
          }
          steps[j] = {i, &option, ms, flops, true};
        };
        if (j == i + 1) take(Whole(i, images));
        if (images > 1) continue;
        for (const Option& option : Between(i, j)) take(option);
      }
    }
    std::vector<const Option*> path;
    if (!steps[last].reached) return path;
    for (size_t j = last; j > 0; j = steps[j].from) path.push_back(steps[j].option);
    std::reverse(path.begin(), path.end());
    return path;
  }

  const Option& Whole(size_t i, int64_t images) {
    const auto [entry, is_new] = whole_.try_emplace({i, images});
    if (is_new) entry->second = AsItIs(cuts_[i], cuts_[i + 1], images);
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

  // Splits the batch into `parts` up to each cut in turn.
  void TryParts(int64_t parts) {
    const int64_t images = images_ / parts;
    for (size_t last = 1; last < cuts_.size(); ++last) {
      if (parts == 1 && last + 1 < cuts_.size()) continue;
      if (parts > 1 && !SplitsBatch(last)) break;
      // What is behind the cut, for all images.
      double rest_ms = 0;
      int64_t rest_bytes = 0;
      for (size_t i = last; i + 1 < cuts_.size(); ++i) {
        rest_ms += Whole(i, images_).ms;
        rest_bytes = std::max(rest_bytes, Whole(i, images_).bytes);
      }
      if (rest_bytes > found_[0].arena_bytes) continue;
      const int64_t waiting = parts == 1 ? 0 : ArenaBytesOf(cuts_[last]) / parts * (parts - 1);
      // Every peak that some step can have is a budget.
      std::set<int64_t> budgets;
      for (size_t j = 1; j <= last; ++j) {
        budgets.insert(Whole(j - 1, images).bytes);
        for (size_t i = 0; images == 1 && i < j; ++i) {
          for (const Option& option : Between(i, j)) budgets.insert(option.bytes);
        }
      }
      int64_t used = -1;  // the peak of the tiling found last
      for (int64_t budget : budgets) {
        if (budget <= used) continue;
        const std::vector<const Option*> path = Fastest(last, images, budget);
        if (path.empty()) continue;
        Tiling tiling = Compose(path, parts, cuts_[last]);
        used = tiling.arena_bytes;
        tiling.arena_bytes = std::max(tiling.arena_bytes + waiting, rest_bytes);
        tiling.ms += rest_ms;
        found_.push_back(std::move(tiling));
      }
    }
  }

  Tiling Compose(const std::vector<const Option*>& path, int64_t parts,
                 const GraphCut& last) const {
    Tiling tiling;
    double flops = 0;
    for (const Option* option : path) {
      if (option->segment) tiling.spec.segments.push_back(*option->segment);
      tiling.arena_bytes = std::max(tiling.arena_bytes, option->bytes);
      tiling.ms += option->ms * static_cast<double>(parts);
      flops += option->flops * static_cast<double>(parts);
    }
    tiling.extra_flops = flops_ > 0 ? flops / flops_ : 0;
    if (parts > 1) {
      TileSegment batch{IdOf(cuts_[0]), IdOf(last), TileKind::kBatch,
                        parts,          1,          std::move(tiling.spec.segments)};
      tiling.spec.segments = {std::move(batch)};
    }
    return tiling;
  }

  std::vector<Tiling> Smallest() {
    std::vector<Tiling> smallest = found_;
    std::stable_sort(smallest.begin(), smallest.end(), [](const Tiling& a, const Tiling& b) {
      return std::pair(a.arena_bytes, a.ms) < std::pair(b.arena_bytes, b.ms);
    });
    const double most = kNearlySmallest * static_cast<double>(smallest[0].arena_bytes);
    std::vector<Tiling> result;
    for (Tiling& tiling : smallest) {
      if (static_cast<double>(tiling.arena_bytes) > most) break;
      // Equal in both: the same, or ends in other copies.
      if (!result.empty() && result.back().arena_bytes == tiling.arena_bytes &&
          result.back().ms == tiling.ms) {
        continue;
      }
      result.push_back(std::move(tiling));
    }
    return result;
  }

  const Graph& graph_;
  const absl::Span<const int> order_;
  const TilingLimits limits_;
  const ProcessorSpeed speed_;
  const StorageModel model_;
  const std::vector<int64_t> live_;  // by position
  const std::vector<GraphCut> all_cuts_;
  const double flops_;
  int64_t images_ = 1;
  std::vector<GraphCut> cuts_;
  std::map<std::pair<size_t, size_t>, std::vector<Option>> options_;  // by two cuts
  std::map<std::pair<size_t, int64_t>, Option> whole_;                // by cut and images
  std::map<size_t, bool> splits_batch_;                               // by cut
  std::vector<Tiling> found_;
};

}  // namespace

absl::StatusOr<FoundTilings> SearchTilings(const Graph& graph, absl::Span<const int> order,
                                           const TilingLimits& limits,
                                           const ProcessorSpeed& speed) {
  return Search(graph, order, limits, speed).Run();
}

}  // namespace ashlar
