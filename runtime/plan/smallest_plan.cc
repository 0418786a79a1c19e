// First what the search expects to be small is planned, then local search (first improvement): from
// the smallest plan to tilings near it, as long as one of them is smaller and work is left.
#include "runtime/plan/smallest_plan.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/status.h"
#include "runtime/plan/tiling_moves.h"

namespace ashlar {
namespace {

// Plans made at a time: a number of its own and not of cores, on which no answer may depend. A
// plan of a large graph takes tens of megabytes, and one with lines that ebb, which has several
// buffers for a tensor, twice as many.
constexpr size_t kTogether = 2;
constexpr size_t kEbbingTogether = 1;
// Plans made of what the search expects to be small. What they need at least is known before, so
// few are enough.
constexpr size_t kMostSmall = 24;
// The same of what it found between other cuts.
constexpr size_t kMostMoved = 8;
// The same of both with lines that ebb; of a graph of few operators as many as have so many
// together. What these need at least a plan often has not: rows that stay hold others in their
// places.
constexpr size_t kMostEbbing = 16;
constexpr size_t kEbbingOperators = 1200;
// Of these, and of what is near, plans made once more with more work: the smallest, and that of the
// tiling that is expected to be, of which a plan made with little work can be far.
constexpr size_t kThorough = 3;
// Plans made of what is near: as many as have so many operators together, few of large graphs.
constexpr size_t kNearOperators = 12000;
constexpr size_t kMostNear = 8;

class Smallest {
 public:
  explicit Smallest(TiledPlans& plans)
      : plans_(plans), most_ebbing_(std::max(kMostEbbing, kEbbingOperators / plans.operators())) {}

  absl::StatusOr<std::unique_ptr<PlannedGraph>> Find() {
    tilings_ = &plans_.smaller_tilings();
    const absl::Span<const Tiling> small = absl::MakeConstSpan(tilings_->smallest);
    const absl::Span<const Tiling> moved = absl::MakeConstSpan(tilings_->moved);
    ASHLAR_RETURN_IF_ERROR(Try(Sparing(small.subspan(0, kMostSmall))));
    ASHLAR_RETURN_IF_ERROR(Try(Sparing(moved.subspan(0, kMostMoved))));
    Questions others;  // with what budgets are met
    for (const Tiling& tiling : tilings_->best) {
      for (const bool sparing : plans_.kinds()) others.push_back({&tiling, sparing});
    }
    ASHLAR_RETURN_IF_ERROR(Try(others));
    ASHLAR_RETURN_IF_ERROR(TryTilesOfPart());
    ASHLAR_RETURN_IF_ERROR(Descend());
    // Of a large graph the search over a part has tried such tiles, if there is one.
    if (of_part_.spec.empty() || most_ebbing_ > kMostEbbing) ASHLAR_RETURN_IF_ERROR(TryEbbing());
    ASHLAR_RETURN_IF_ERROR(TryThoroughly());
    // None may have the tiles that were expected of it.
    if (smallest_ == nullptr) return plans_.PlanUntiled(plans_.kinds().back());
    return WithFastKernels();
  }

 private:
  using Questions = std::vector<TiledPlans::Question>;

  int64_t least() const {
    return smallest_ == nullptr ? std::numeric_limits<int64_t>::max() : smallest_->plan.plan.arena;
  }

  static Questions Sparing(absl::Span<const Tiling> tilings) {
    Questions questions;
    for (const Tiling& tiling : tilings) questions.push_back({&tiling, /*sparing=*/true});
    return questions;
  }

  // Whether the plan that is asked for was not made before, and may be the smallest: none is
  // smaller than what lives in it at once.
  bool IsOfUse(const TiledPlans::Question& question) {
    return question.tiling->arena_bytes < least() &&
           asked_.insert({question.tiling->spec.ToString(), question.sparing, question.thorough})
               .second;
  }

  // Makes these plans, as far as they are of use; with `first` only until one is smaller than all
  // before.
  absl::Status Try(const Questions& questions, bool first = false) {
    const int64_t before = least();
    for (size_t next = 0; next < questions.size();) {
      Questions some;
      const bool ebbs = questions[next].tiling->spec.Has(TileKind::kEbb);
      const size_t together = ebbs ? kEbbingTogether : kTogether;
      for (; next < questions.size() && some.size() < together; ++next) {
        if (IsOfUse(questions[next])) some.push_back(questions[next]);
      }
      ASHLAR_ASSIGN_OR_RETURN(auto planned, plans_.Plan(some));
      made_ += some.size();
      for (size_t i = 0; i < planned.size(); ++i) {
        if (planned[i] != nullptr) Consider(some[i], std::move(planned[i]));
      }
      if (first && least() < before) break;
    }
    return absl::OkStatus();
  }

  void Consider(const TiledPlans::Question& question, std::unique_ptr<PlannedGraph> planned) {
    const int64_t arena = planned->plan.plan.arena;
    if (planned->plan.proof == memory::Proof::kNone) unproven_.push_back({arena, question});
    if (arena >= least()) return;
    smallest_ = std::move(planned);
    tiling_ = question.tiling;
    sparing_ = question.sparing;
  }

  // With lines that ebb, besides all others: what is found without is tried as it would be. One
  // segment needs what it is expected to more often than several, and is tried first.
  absl::Status TryEbbing() {
    tilings_ = &plans_.ebbing_tilings();
    for (const std::vector<Tiling>* const list : {&tilings_->smallest, &tilings_->moved}) {
      ASHLAR_RETURN_IF_ERROR(Try(Ebbing(*list, /*alone=*/true)));
      ASHLAR_RETURN_IF_ERROR(Try(Ebbing(*list, /*alone=*/false)));
    }
    return tiling_ != nullptr && tiling_->spec.Has(TileKind::kEbb) ? Descend() : absl::OkStatus();
  }

  // The first that have lines that ebb, in one segment or in several.
  Questions Ebbing(const std::vector<Tiling>& tilings, bool alone) const {
    Questions ebbing;
    for (const Tiling& tiling : tilings) {
      if (ebbing.size() == most_ebbing_) break;
      if (tiling.spec.Has(TileKind::kEbb) && IsAlone(tiling.spec) == alone) {
        ebbing.push_back({&tiling, /*sparing=*/true});
      }
    }
    return ebbing;
  }

  // One segment, of all images or of each.
  static bool IsAlone(const TileSpec& spec) {
    return spec.segments.size() == 1 && spec.segments[0].inner.size() <= 1;
  }

  // The smallest of those that were not proven to be the smallest of their tilings, and what is
  // expected to be the smallest of them, with more work.
  absl::Status TryThoroughly() {
    if (unproven_.empty()) return absl::OkStatus();
    const auto expected = [](const auto& entry) {
      const Tiling& tiling = *entry.second.tiling;
      return std::tuple(tiling.arena_bytes, tiling.ms, !entry.second.sparing);
    };
    const TiledPlans::Question best =
        std::min_element(unproven_.begin(), unproven_.end(), [&](const auto& a, const auto& b) {
          return expected(a) < expected(b);
        })->second;
    std::stable_sort(unproven_.begin(), unproven_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    unproven_.resize(std::min(unproven_.size(), kThorough));
    Questions questions;
    for (const auto& [arena, question] : unproven_) {
      questions.push_back({question.tiling, question.sparing, Thoroughness::kChosen});
    }
    questions.push_back({best.tiling, best.sparing, Thoroughness::kChosen});
    unproven_.clear();
    return Try(questions);
  }

  // Where the smallest that is expected splits the batch, the smallest plan of one part by itself
  // has tiles for all of them: of a part more plans can be looked at.
  absl::Status TryTilesOfPart() {
    const Tiling& expected = tilings_->smallest[0];
    const auto& segments = expected.spec.segments;
    if (segments.empty() || segments[0].kind != TileKind::kBatch) return absl::OkStatus();
    const absl::StatusOr<RewrittenGraph> part = plans_.PartOf(segments[0]);
    if (!part.ok()) return absl::OkStatus();  // it is no graph by itself
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<TiledPlans> plans,
                            TiledPlans::Create(*part, plans_.request()));
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> smallest, SmallestOf(*plans));
    const std::vector<TileSegment>& tiles = smallest->wishes.tiles.segments;
    if (!tiles.empty() && tiles[0].kind == TileKind::kBatch) return absl::OkStatus();
    of_part_ = expected;
    of_part_.spec.segments[0].inner = tiles;
    of_part_.arena_bytes = std::min(expected.arena_bytes, least() - 1);
    return Try({{&of_part_, /*sparing=*/true, Thoroughness::kChosen}});
  }

  absl::Status Descend() {
    if (smallest_ == nullptr) return absl::OkStatus();
    const size_t operators = std::max<size_t>(1, smallest_->graph.nodes().size());
    for (const size_t most = made_ + std::min(kMostNear, kNearOperators / operators);
         made_ < most;) {
      const int64_t before = least();
      near_.push_back(TilingsNear(*tilings_, *tiling_, before, plans_.max_extra_flops()));
      const absl::Span<const Tiling> near = absl::MakeConstSpan(near_.back());
      ASHLAR_RETURN_IF_ERROR(Try(Sparing(near.subspan(0, most - made_)), /*first=*/true));
      if (least() == before) break;
    }
    return absl::OkStatus();
  }

  // With the fastest kernels, where that is as small.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> WithFastKernels() {
    if (!sparing_ || plans_.kinds().size() == 1) return std::move(smallest_);
    ASHLAR_ASSIGN_OR_RETURN(auto planned,
                            plans_.Plan({{tiling_, /*sparing=*/false, Thoroughness::kChosen}}));
    return planned[0]->plan.plan.arena <= least() ? std::move(planned[0]) : std::move(smallest_);
  }

  TiledPlans& plans_;
  const size_t most_ebbing_;
  const FoundTilings* tilings_ = nullptr;
  Tiling of_part_;  // TryTilesOfPart
  std::deque<std::vector<Tiling>> near_;
  std::set<std::tuple<std::string, bool, Thoroughness>> asked_;
  size_t made_ = 0;                                                 // plans
  std::vector<std::pair<int64_t, TiledPlans::Question>> unproven_;  // with their arenas
  std::unique_ptr<PlannedGraph> smallest_;
  const Tiling* tiling_ = nullptr;  // its
  bool sparing_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(TiledPlans& plans) {
  return Smallest(plans).Find();
}

}  // namespace ashlar
