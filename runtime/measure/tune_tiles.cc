#include "runtime/measure/tune_tiles.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "graph/status.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/measure/network_turns.h"
#include "runtime/plan/record/recorded_tiles.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "runtime/plan/tiling/tiled_plans.h"
#include "runtime/plan/tiling/tiling_trials.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

// Limits on the numbers of slices that are tried, including the smallest and the largest, and on a
// number itself.
constexpr size_t kNumbersOfParts = 4;
constexpr int64_t kMostParts = 32;
// How many of the tilings that are expected to be fastest are tried.
constexpr size_t kExpected = 3;
// A tiling is confirmed if its trial took at most this share of the present time; at most this
// many.
constexpr double kPromisingTiles = 0.985;
constexpr size_t kConfirmed = 2;
// Cost of a change of the number of slices between ranges, as a share of the network's time: a
// segment must gain more than it costs to begin it.
constexpr double kChange = 0.003;

class TilesTuning {
 public:
  TilesTuning(const Graph& graph, PlanRequest request, const TuneOptions& tune)
      : graph_(graph), request_(std::move(request)), tune_(tune) {}

  // `earlier`: the recorded tiling, which is tried again.
  absl::StatusOr<TunedTiles> Run(const TileSpec& earlier) {
    const auto& [target, planning, debug] = request_;
    ASHLAR_ASSIGN_OR_RETURN(rewritten_,
                            RewriteGraph(Graph(graph_), target, planning, {.tiled = true}));
    ASHLAR_ASSIGN_OR_RETURN(order_, OrderOf(rewritten_.graph, target, planning));
    cuts_ = FindCuts(rewritten_.graph, order_.order);
    if (cuts_.size() < 2) return std::move(tuned_);
    ASHLAR_ASSIGN_OR_RETURN(present_, Prepare({}));
    start_ = Clock::now();
    ASHLAR_RETURN_IF_ERROR(Try(earlier));
    ASHLAR_RETURN_IF_ERROR(TryParts());
    if (!tune_.stopped()) ASHLAR_RETURN_IF_ERROR(Try(BestOfRanges()));
    ASHLAR_RETURN_IF_ERROR(TryExpected());
    ASHLAR_RETURN_IF_ERROR(Confirm());
    return std::move(tuned_);
  }

 private:
  // Seconds by the id of a node of the untiled graph.
  using Seconds = std::map<int, double>;

  absl::StatusOr<std::unique_ptr<TimedNetwork>> Prepare(const TileSpec& tiles) {
    PlanRequest request = request_;
    request.target.tiles = tiles;
    ASHLAR_ASSIGN_OR_RETURN(TimedNetwork network, TimedNetwork::Prepare(graph_, request));
    return std::make_unique<TimedNetwork>(std::move(network));
  }

  bool TimeIsOut() const { return tune_.stopped() || Clock::now() > start_ + tune_.duration(); }

  // Returns the segment between two cuts with the batch in `parts` slices.
  TileSegment Batch(size_t from, size_t to, int64_t parts) const {
    return {IdOf(rewritten_.graph, cuts_[from]),
            IdOf(rewritten_.graph, cuts_[to]),
            TileKind::kBatch,
            parts,
            1,
            {}};
  }

  int64_t images() const {
    const Shape& shape = rewritten_.graph.var(cuts_[0].var).type.shape;
    return shape.rank() > 0 ? shape[0] : 1;
  }

  // Returns a few of the numbers into which the batch can be split.
  std::vector<int64_t> NumbersOfParts() const {
    std::vector<int64_t> all;
    for (int64_t parts = 2; parts <= std::min(images(), kMostParts); ++parts) {
      if (images() % parts == 0) all.push_back(parts);
    }
    const size_t count = std::min(kNumbersOfParts, all.size());
    std::vector<int64_t> some;
    for (size_t i = 0; i < count; ++i) {
      some.push_back(all[i * (all.size() - 1) / std::max<size_t>(count - 1, 1)]);
    }
    return some;
  }

  // Tries numbers of slices, up to the last cut before which all operators can be split.
  absl::Status TryParts() {
    const std::vector<int64_t> numbers = NumbersOfParts();
    if (numbers.empty()) return absl::OkStatus();
    const int64_t few = numbers.front();  // a batch that can be split in two can be split in more
    for (last_ = cuts_.size() - 1; last_ > 0; --last_) {
      if (Tile(rewritten_.graph, {{Batch(0, last_, few)}}, order_.order, Operators()).ok()) break;
    }
    if (last_ == 0) return absl::OkStatus();
    for (const int64_t parts : numbers) {
      if (tune_.stopped() || (TimeIsOut() && !tuned_.trials.empty())) break;
      ASHLAR_RETURN_IF_ERROR(Try({{Batch(0, last_, parts)}}, parts));
    }
    return absl::OkStatus();
  }

  // Returns the seconds of a network's steps, by the ids of the untiled graph, as the median of the
  // runs.
  Seconds SecondsOf(const TimedNetwork& network, const NetworkTurns& turns,
                    std::vector<double> NetworkTurns::Pair::*plan, const PartsOfNodes& parts) {
    Seconds seconds;
    for (const int node : network.planned().schedule.order) {
      const int id = network.planned().graph.node(node).id;
      const auto whole = parts.find(id);
      seconds[whole == parts.end() ? id : whole->second] += turns.Seconds(plan, {node});
    }
    return seconds;
  }

  // Times a tiling. With `parts` (the same number of slices throughout) also stores the times by
  // operator.
  absl::Status Try(const TileSpec& tiles, int64_t parts = 1) {
    if (tiles.empty()) return absl::OkStatus();
    for (const TunedTiles::Trial& trial : tuned_.trials) {
      if (trial.tiles == tiles) return absl::OkStatus();
    }
    PartsOfNodes of_nodes;
    // A tiling that cannot be made or planned is not a candidate.
    if (!Tile(rewritten_.graph, tiles, order_.order, Operators(), &of_nodes,
              rewritten_.adds_quantized)
             .ok()) {
      return absl::OkStatus();
    }
    const auto network = Prepare(tiles);
    if (!network.ok()) return absl::OkStatus();
    const TurnLimits trial{tune_.trial_pairs, tune_.trial_pairs, {}};
    ASHLAR_ASSIGN_OR_RETURN(const NetworkTurns turns,
                            TakeTurns(*present_, **network, trial, tune_));
    if (turns.pairs.empty()) return absl::OkStatus();
    tuned_.trials.push_back({tiles, MedianOf(WholeRatios(**network, turns))});
    if (parts == 1) return absl::OkStatus();
    seconds_[parts] = SecondsOf(**network, turns, &NetworkTurns::Pair::other, of_nodes);
    // The untiled graph was timed beside each tiling: the last time is used.
    seconds_[1] = SecondsOf(*present_, turns, &NetworkTurns::Pair::present, {});
    return absl::OkStatus();
  }

  std::vector<double> WholeRatios(const TimedNetwork& network, const NetworkTurns& turns) const {
    return turns.Ratios(present_->planned().schedule.order, network.planned().schedule.order);
  }

  // Returns the fastest assignment of numbers of slices to the ranges between cuts, by the
  // operators' times; empty if it is the untiled graph.
  TileSpec BestOfRanges() const {
    if (seconds_.size() < 2) return {};
    struct Way {
      double seconds;
      int64_t parts;
      const Way* before;  // of the range before
    };
    double whole = 0;
    for (const auto& [id, seconds] : seconds_.at(1)) whole += seconds;
    std::vector<std::vector<Way>> ways = {{{0, 1, nullptr}}};
    for (size_t range = 0; range < last_; ++range) {
      std::vector<Way> next;
      for (const auto& [parts, seconds] : seconds_) {
        double takes = 0;
        for (int k = cuts_[range].position + 1; k <= cuts_[range + 1].position; ++k) {
          const auto found = seconds.find(rewritten_.graph.node(order_.order[k]).id);
          if (found != seconds.end()) takes += found->second;
        }
        const auto after = [&, number = parts](const Way& way) {
          return way.seconds + (way.parts == number ? 0 : kChange * whole);
        };
        const auto best =
            std::min_element(ways.back().begin(), ways.back().end(),
                             [&](const Way& a, const Way& b) { return after(a) < after(b); });
        next.push_back({after(*best) + takes, parts, &*best});
      }
      ways.push_back(std::move(next));
    }
    const Way* way =
        &*std::min_element(ways.back().begin(), ways.back().end(),
                           [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
    TileSpec spec;
    for (size_t end = last_; end > 0;) {
      const int64_t parts = way->parts;
      size_t begin = end;
      for (; begin > 0 && way->parts == parts; --begin) way = way->before;
      if (parts > 1) spec.segments.insert(spec.segments.begin(), Batch(begin, end, parts));
      end = begin;
    }
    return spec;
  }

  absl::Status TryExpected() {
    if (TimeIsOut()) return absl::OkStatus();
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TiledPlans> plans,
                            TiledPlans::Create(rewritten_, request_));
    std::vector<TileSpec> expected;
    for (const Tiling& tiling : plans->tilings().best) {
      if (expected.size() < kExpected && !tiling.spec.empty() && tiling.extra_flops == 0) {
        expected.push_back(tiling.spec);
      }
    }
    for (const TileSpec& tiles : expected) {
      if (TimeIsOut()) break;
      ASHLAR_RETURN_IF_ERROR(Try(tiles));
    }
    return absl::OkStatus();
  }

  absl::Status Confirm() {
    std::vector<TunedTiles::Trial> promising;
    for (const TunedTiles::Trial& trial : tuned_.trials) {
      if (trial.ratio < kPromisingTiles) promising.push_back(trial);
    }
    std::stable_sort(promising.begin(), promising.end(),
                     [](const auto& a, const auto& b) { return a.ratio < b.ratio; });
    promising.resize(std::min(promising.size(), kConfirmed));
    for (const TunedTiles::Trial& trial : promising) {
      if (tune_.stopped()) break;
      const auto network = Prepare(trial.tiles);
      if (!network.ok()) continue;
      ASHLAR_ASSIGN_OR_RETURN(
          const NetworkTurns turns,
          TakeTurns(*present_, **network,
                    {kLeastConfirming, tune_.confirming_pairs, start_ + tune_.duration()}, tune_));
      const std::optional<MedianInterval> ratio = MedianIntervalOf(WholeRatios(**network, turns));
      if (!ratio || ratio->high >= 1) continue;
      if (tuned_.ratio && tuned_.ratio->median <= ratio->median) continue;
      tuned_.ratio = ratio;
      tuned_.chosen = trial.tiles;
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const PlanRequest request_;
  const TuneOptions& tune_;
  RewrittenGraph rewritten_;
  Schedule order_;
  std::vector<GraphCut> cuts_;
  size_t last_ = 0;  // cut before which the batch can be split
  std::unique_ptr<TimedNetwork> present_;
  Clock::time_point start_;
  std::map<int64_t, Seconds> seconds_;  // by number of slices; 1: untiled
  TunedTiles tuned_;
};

}  // namespace

absl::StatusOr<TunedTiles> TuneTiles(const Graph& graph, PlanRequest request,
                                     const TuneOptions& tune, KernelRecord& record) {
  const std::string key = TilesKey(graph, request.target, request.planning);
  request.planning.record = std::make_shared<const KernelRecord>(record);
  request.target.tuned_tiles = true;
  const TileSpec earlier = TilesOnRecord(graph, request);
  request.target.tuned_tiles = false;
  const int threads = request.target.threads;
  ASHLAR_ASSIGN_OR_RETURN(TunedTiles tuned,
                          TilesTuning(graph, std::move(request), tune).Run(earlier));
  // If stopped before anything is certain, an earlier choice stays.
  const bool decided = tuned.ratio.has_value() || (!tuned.trials.empty() && !tune.stopped());
  if (decided) record.tiles[key][threads] = tuned.chosen;
  return tuned;
}

}  // namespace ashlar
