// Plans the tilings that the search expects to be small. Then local search (first improvement):
// from the smallest plan to neighbouring tilings, as long as one of them is smaller and the work
// limit is not reached.
#include "runtime/plan/tiling/smallest_plan.h"

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
#include "runtime/plan/tiling/tiling_moves.h"

namespace ashlar {
namespace {

// Plans made at the same time: a fixed number, not the number of cores, because results must not
// depend on it. A plan of a large graph takes tens of megabytes. A plan of rolling lines with early
// release (rolling) takes twice as many, because a tensor has several buffers.
constexpr size_t kTogether = 2;
constexpr size_t kRollingTogether = 1;
// Limit on plans of tilings that are expected to be small. Their lower bounds are known before, so
// a few are enough.
constexpr size_t kMostSmall = 24;
// The same for tilings between other cuts.
constexpr size_t kMostMoved = 8;
// The same for each list with rolling lines. For small graphs the limit is higher: as many plans as
// have kRollingOperators operators in total. Their plans often exceed the estimate: rows that stay
// keep others from moving.
constexpr size_t kMostRolling = 16;
constexpr size_t kRollingOperators = 1200;
// Limit on plans that are repeated with more work, of all of these and of neighbours: the smallest,
// and the plan of the tiling that is expected to be smallest. A plan made with little work can be
// far from its estimate.
constexpr size_t kThorough = 3;
// Limit on neighbouring plans, as total operators: large graphs try fewer.
constexpr size_t kNearOperators = 12000;
constexpr size_t kMostNear = 8;

class Smallest {
 public:
  Smallest(TiledPlans& plans, int64_t below)
      : plans_(plans),
        below_(below),
        most_rolling_(std::max(kMostRolling, kRollingOperators / plans.operators())) {}

  absl::StatusOr<std::unique_ptr<PlannedGraph>> Find() {
    tilings_ = &plans_.smaller_tilings();
    const absl::Span<const Tiling> small = absl::MakeConstSpan(tilings_->smallest);
    const absl::Span<const Tiling> moved = absl::MakeConstSpan(tilings_->moved);
    ASHLAR_RETURN_IF_ERROR(Try(WithLowWorkspace(small.subspan(0, kMostSmall))));
    ASHLAR_RETURN_IF_ERROR(Try(WithLowWorkspace(moved.subspan(0, kMostMoved))));
    ASHLAR_RETURN_IF_ERROR(Descend());
    ASHLAR_RETURN_IF_ERROR(TryRolling());
    ASHLAR_RETURN_IF_ERROR(TryThoroughly());
    if (smallest_ != nullptr) return WithFastKernels();
    if (below_ < std::numeric_limits<int64_t>::max()) return nullptr;
    // Possibly no candidate could be tiled as estimated.
    return plans_.PlanUntiled(plans_.kinds().back());
  }

 private:
  using Candidates = std::vector<TiledPlans::Candidate>;

  int64_t least() const { return smallest_ == nullptr ? below_ : smallest_->plan.plan.arena; }

  Candidates WithLowWorkspace(absl::Span<const Tiling> tilings) const {
    Candidates candidates;
    for (const Tiling& tiling : tilings) {
      candidates.push_back({&tiling, /*low_workspace=*/true});
    }
    return candidates;
  }

  // Returns whether a candidate is new and may be the smallest: a plan is never smaller than its
  // peak of live bytes.
  bool IsOfUse(const TiledPlans::Candidate& candidate) {
    return candidate.tiling->arena_bytes < least() &&
           asked_
               .insert(
                   {candidate.tiling->spec.ToString(), candidate.low_workspace, candidate.thorough})
               .second;
  }

  // Plans the useful candidates; with `first`, stops after the first one that is smaller than all
  // before.
  absl::Status Try(const Candidates& candidates, bool first = false) {
    const int64_t before = least();
    for (size_t next = 0; next < candidates.size();) {
      Candidates some;
      const bool rolls = candidates[next].tiling->spec.Has(TileKind::kRolling);
      const size_t together = rolls ? kRollingTogether : kTogether;
      for (; next < candidates.size() && some.size() < together; ++next) {
        if (IsOfUse(candidates[next])) some.push_back(candidates[next]);
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

  void Consider(const TiledPlans::Candidate& candidate, std::unique_ptr<PlannedGraph> planned) {
    const int64_t arena = planned->plan.plan.arena;
    if (planned->plan.proof == memory::Proof::kNone) unproven_.push_back({arena, candidate});
    if (arena >= least()) return;
    smallest_ = std::move(planned);
    tiling_ = candidate.tiling;
    low_workspace_ = candidate.low_workspace;
  }

  // Tries rolling lines with early release, after all others: the search without them is not
  // changed. Tilings with one segment come first, because they reach their estimates more often.
  absl::Status TryRolling() {
    tilings_ = &plans_.rolling_tilings();
    for (const std::vector<Tiling>* const list : {&tilings_->smallest, &tilings_->moved}) {
      ASHLAR_RETURN_IF_ERROR(Try(RollingCandidates(*list, /*alone=*/true)));
      ASHLAR_RETURN_IF_ERROR(Try(RollingCandidates(*list, /*alone=*/false)));
    }
    return tiling_ != nullptr && tiling_->spec.Has(TileKind::kRolling) ? Descend()
                                                                       : absl::OkStatus();
  }

  // Returns the first candidates with rolling lines, in one segment or in several.
  Candidates RollingCandidates(const std::vector<Tiling>& tilings, bool alone) const {
    Candidates rolling;
    for (const Tiling& tiling : tilings) {
      if (rolling.size() == most_rolling_) break;
      if (tiling.spec.Has(TileKind::kRolling) && IsAlone(tiling.spec) == alone) {
        rolling.push_back({&tiling, /*low_workspace=*/true});
      }
    }
    return rolling;
  }

  // Returns whether there is one segment, for all images or for each.
  static bool IsAlone(const TileSpec& spec) {
    return spec.segments.size() == 1 && spec.segments[0].inner.size() <= 1;
  }

  // Plans with more work: the smallest plans that are not proven to be the smallest of their
  // tilings, and the one that is expected to be smallest.
  absl::Status TryThoroughly() {
    if (unproven_.empty()) return absl::OkStatus();
    const auto expected = [](const auto& entry) {
      const Tiling& tiling = *entry.second.tiling;
      return std::tuple(tiling.arena_bytes, tiling.ms, !entry.second.low_workspace);
    };
    const TiledPlans::Candidate best =
        std::min_element(unproven_.begin(), unproven_.end(), [&](const auto& a, const auto& b) {
          return expected(a) < expected(b);
        })->second;
    std::stable_sort(unproven_.begin(), unproven_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    unproven_.resize(std::min(unproven_.size(), kThorough));
    Candidates candidates;
    for (const auto& [arena, candidate] : unproven_) {
      candidates.push_back({candidate.tiling, candidate.low_workspace, Thoroughness::kChosen});
    }
    candidates.push_back({best.tiling, best.low_workspace, Thoroughness::kChosen});
    unproven_.clear();
    return Try(candidates);
  }

  absl::Status Descend() {
    if (smallest_ == nullptr) return absl::OkStatus();
    const size_t operators = std::max<size_t>(1, smallest_->graph.nodes().size());
    for (const size_t most = made_ + std::min(kMostNear, kNearOperators / operators);
         made_ < most;) {
      const int64_t before = least();
      near_.push_back(TilingsNear(*tilings_, *tiling_, before, plans_.max_extra_flops()));
      const absl::Span<const Tiling> near = absl::MakeConstSpan(near_.back());
      ASHLAR_RETURN_IF_ERROR(Try(WithLowWorkspace(near.subspan(0, most - made_)), /*first=*/true));
      if (least() == before) break;
    }
    return absl::OkStatus();
  }

  // Returns the plan with the fastest kernels if it is not larger.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> WithFastKernels() {
    if (!low_workspace_ || plans_.kinds().size() == 1) return std::move(smallest_);
    ASHLAR_ASSIGN_OR_RETURN(
        auto planned, plans_.Plan({{tiling_, /*low_workspace=*/false, Thoroughness::kChosen}}));
    return planned[0]->plan.plan.arena <= least() ? std::move(planned[0]) : std::move(smallest_);
  }

  TiledPlans& plans_;
  const int64_t below_;
  const size_t most_rolling_;
  const FoundTilings* tilings_ = nullptr;
  std::deque<std::vector<Tiling>> near_;
  std::set<std::tuple<std::string, bool, Thoroughness>> asked_;
  size_t made_ = 0;                                                  // plans
  std::vector<std::pair<int64_t, TiledPlans::Candidate>> unproven_;  // with the sizes of their
                                                                     // arenas
  std::unique_ptr<PlannedGraph> smallest_;
  const Tiling* tiling_ = nullptr;  // of `smallest_`
  bool low_workspace_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(TiledPlans& plans, int64_t below) {
  return Smallest(plans, below).Find();
}

}  // namespace ashlar
