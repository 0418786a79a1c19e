// A stage plans the tilings that are expected to be smallest, then the best of these with more work
// and with faster kernels.
#include "runtime/plan/tiling/smallest_plan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "runtime/plan/tiling/least_tilings.h"
#include "runtime/plan/tiling/needless_tiles.h"

namespace ashlar {
namespace {

// Extra operations of the stages, over all of the untiled graph.
constexpr double kLimits[] = {0, 0.05, 0.3, 1, std::numeric_limits<double>::infinity()};
// Limits on the tilings that a stage plans, and of these with more work.
constexpr size_t kPlanned = 8, kThorough = 2;
// Plans made at the same time: a fixed number, not the number of cores, because results must not
// depend on it. A plan of a large graph takes tens of megabytes.
constexpr size_t kTogether = 2;

// The order in which plans are better.
struct Rank {
  int64_t arena = std::numeric_limits<int64_t>::max();
  double extra_flops = 0, ms = 0;

  static Rank Of(const PlannedGraph& planned) {
    return {planned.plan.plan.arena, planned.extra_flops_ratio, planned.predicted_ms};
  }
  friend bool operator<(const Rank& a, const Rank& b) {
    return std::tie(a.arena, a.extra_flops, a.ms) < std::tie(b.arena, b.extra_flops, b.ms);
  }
};

// Returns the names of the kernels, by node.
std::vector<std::string> KernelsOf(const PlannedGraph& planned) {
  std::vector<std::string> names;
  for (const std::shared_ptr<const Kernel>& kernel : planned.kernels) {
    names.emplace_back(kernel == nullptr ? "" : kernel->implementation());
  }
  return names;
}

class Stages {
 public:
  Stages(const Graph& graph, double max_extra_flops)
      : graph_(graph), max_extra_flops_(max_extra_flops) {}

  // Plans the tilings that the search expects to be smallest, with little work; then with more work
  // the best of them and the first that was expected; then the best of all with fast kernels.
  absl::Status Run(TiledPlans& plans, double limit) {
    const std::shared_ptr<PlannedGraph> before = least_plan_;
    ASHLAR_RETURN_IF_ERROR(Improve(plans, limit));
    if (least_plan_ == before || least_plan_->tiles.empty()) return absl::OkStatus();
    ASHLAR_ASSIGN_OR_RETURN(
        auto fewer,
        WithoutNeedlessTiles(graph_, std::make_unique<PlannedGraph>(*least_plan_), least_.arena));
    if (!(fewer->tiles == least_plan_->tiles)) Offer(std::move(fewer), /*or_equal=*/true);
    return absl::OkStatus();
  }

  std::unique_ptr<PlannedGraph> Take() {
    least_plan_.reset();
    return taken_ == nullptr ? nullptr : std::make_unique<PlannedGraph>(std::move(*taken_));
  }

 private:
  absl::Status Improve(TiledPlans& plans, double limit) {
    const std::vector<Tiling> tilings = plans.least_tilings().Find(limit, least_.arena);
    const Tiling* best = nullptr;
    bool proven = false;
    // Plans some at a time, as long as each may be the smallest.
    const auto plan = [&](const std::vector<TiledPlans::Candidate>& candidates) -> absl::Status {
      for (size_t next = 0; next < candidates.size();) {
        std::vector<TiledPlans::Candidate> some;
        for (; next < candidates.size() && some.size() < kTogether; ++next) {
          if (candidates[next].tiling->live_bytes < least_.arena) some.push_back(candidates[next]);
        }
        ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan(some));
        for (size_t i = 0; i < planned.size(); ++i) {
          if (planned[i] == nullptr || planned[i]->extra_flops_ratio > limit) continue;
          const bool is_proven = planned[i]->plan.proof != memory::Proof::kNone;
          if (!Offer(std::move(planned[i]))) continue;
          best = some[i].tiling;
          proven = is_proven;
        }
      }
      return absl::OkStatus();
    };
    std::vector<TiledPlans::Candidate> candidates;
    for (size_t i = 0; i < std::min(tilings.size(), kPlanned); ++i) {
      candidates.push_back({&tilings[i], true, Thoroughness::kLook});
    }
    ASHLAR_RETURN_IF_ERROR(plan(candidates));
    if (best == nullptr) return absl::OkStatus();
    if (!proven) {
      candidates = {{best, true, Thoroughness::kChosen}};
      for (size_t i = 0; i < tilings.size() && candidates.size() < kThorough; ++i) {
        if (&tilings[i] == best || tilings[i].arena_bytes > tilings[0].arena_bytes) continue;
        candidates.push_back({&tilings[i], true, Thoroughness::kChosen});
      }
      ASHLAR_RETURN_IF_ERROR(plan(candidates));
    }
    if (plans.kinds().size() == 1) return absl::OkStatus();
    // Usually the kernels that need little are the fastest that fit, too.
    ASHLAR_ASSIGN_OR_RETURN(auto look, plans.Plan({{best, false, Thoroughness::kLook}}));
    if (look[0] == nullptr) return absl::OkStatus();
    if (KernelsOf(*look[0]) == KernelsOf(*least_plan_)) {
      least_plan_->planning.kernels.low_workspace = look[0]->planning.kernels.low_workspace;
      least_plan_->spared = look[0]->spared;
      return absl::OkStatus();
    }
    ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan({{best, false, Thoroughness::kChosen}}));
    Offer(std::move(planned[0]), /*or_equal=*/true);
    return absl::OkStatus();
  }

  // Returns whether a plan is the best of all stages so far. Keeps it if it is the best within the
  // limit.
  bool Offer(std::unique_ptr<PlannedGraph> planned, bool or_equal = false) {
    if (planned == nullptr) return false;
    const Rank rank = Rank::Of(*planned);
    const auto is_better = [&](const Rank& other) {
      return rank < other || (or_equal && !(other < rank));
    };
    const bool best = is_better(least_);
    const std::shared_ptr<PlannedGraph> shared = std::move(planned);
    if (best) {
      least_ = rank;
      least_plan_ = shared;
    }
    const bool within = shared->extra_flops_ratio <= max_extra_flops_;
    if (within && (taken_ == nullptr || is_better(Rank::Of(*taken_)))) taken_ = shared;
    return best;
  }

  const Graph& graph_;  // before the passes
  const double max_extra_flops_;
  Rank least_;  // of all stages
  std::shared_ptr<PlannedGraph> least_plan_, taken_;
};

}  // namespace

bool IsSmaller(const PlannedGraph& a, const PlannedGraph& b) { return Rank::Of(a) < Rank::Of(b); }

absl::StatusOr<std::unique_ptr<PlannedGraph>> SmallestOf(
    const Graph& graph, absl::Span<const std::unique_ptr<TiledPlans>> rewrites,
    double max_extra_flops) {
  Stages stages(graph, max_extra_flops);
  double before = -1;
  for (const double limit : kLimits) {
    if (before >= max_extra_flops) break;
    before = limit;
    for (const std::unique_ptr<TiledPlans>& plans : rewrites) {
      ASHLAR_RETURN_IF_ERROR(stages.Run(*plans, limit));
    }
  }
  return stages.Take();
}

}  // namespace ashlar
