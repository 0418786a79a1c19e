// A stage plans the tilings that are expected to be smallest, of each rewrite; then the best of all
// with more work, and with faster kernels.
#include "runtime/plan/tiling/smallest_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "runtime/plan/tiling/least_tilings.h"
#include "runtime/plan/tiling/needless_tiles.h"

namespace ashlar {
namespace {

// Extra operations of the stages, over all of the untiled graph.
constexpr double kLimits[] = {0, 0.05, 0.3, 0.7, 1.7, std::numeric_limits<double>::infinity()};
// Limits on the tilings of a rewrite that a stage plans, and on their operators together: a plan of
// a large graph takes seconds.
constexpr size_t kPlanned = 8, kMostOperators = 60000;
// The tilings that a stage plans with more work, and how much larger they may be than the smallest.
constexpr size_t kThorough = 3;
constexpr double kNearlyLeast = 1.05;
// Plans made at the same time: a fixed number, not the number of cores, because results must not
// depend on it. A plan of a large graph takes tens of megabytes.
constexpr size_t kTogether = 2;
// If at least this multiple of the usual work is asked for, tilings are searched with it, too, and
// so many plans are made with each of its powers.
constexpr int64_t kMultiple = 4;
constexpr size_t kMoreWork = 4;

// Returns the names of the kernels, by node.
std::vector<std::string> KernelsOf(const PlannedGraph& planned) {
  std::vector<std::string> names;
  for (const std::shared_ptr<const Kernel>& kernel : planned.kernels) {
    names.emplace_back(kernel == nullptr ? "" : kernel->implementation());
  }
  return names;
}

// A tiling that was planned with little work.
struct Look {
  size_t rewrite = 0;
  Tiling tiling;
  int64_t arena = 0, bound = 0;  // bytes
  size_t operators = 0;
};

class Stages {
 public:
  // `multiple`: of the usual work of searches for tilings.
  Stages(const Graph& graph, absl::Span<const std::unique_ptr<TiledPlans>> rewrites,
         double max_extra_flops, int64_t multiple)
      : graph_(graph),
        rewrites_(rewrites),
        max_extra_flops_(max_extra_flops),
        multiple_(multiple) {}

  absl::Status RunAll() {
    double before = -1;
    for (const double limit : kLimits) {
      if (before >= max_extra_flops_) break;
      before = limit;
      ASHLAR_RETURN_IF_ERROR(Run(limit));
    }
    return absl::OkStatus();
  }

  // Takes the plans of other stages.
  void Add(Stages other) {
    visited_.insert(visited_.end(), other.visited_.begin(), other.visited_.end());
    if (other.taken_ == nullptr) return;
    if (taken_ == nullptr || IsSmaller(PlanPoint::Of(*other.taken_), PlanPoint::Of(*taken_))) {
      taken_ = std::move(other.taken_);
    }
  }

  // Plans the smallest plans within the limit again, with more and more work, up to `most` times
  // the usual.
  absl::Status WorkOn(int64_t most) {
    std::vector<VisitedPlan> smallest;
    for (const VisitedPlan& plan : visited_) {
      const auto place =
          std::find_if(smallest.begin(), smallest.end(), [&](const VisitedPlan& other) {
            return IsSmaller(plan.point, other.point) || plan.tiles == other.tiles;
          });
      if (place != smallest.end() && place->tiles == plan.tiles) continue;
      smallest.insert(place, plan);
      if (smallest.size() > kMoreWork) smallest.pop_back();
    }
    for (int64_t multiple = kMultiple; multiple <= most; multiple *= kMultiple) {
      for (const VisitedPlan& plan : smallest) {
        Look look{plan.rewrite, {}};
        look.tiling.spec = plan.tiles;
        ASHLAR_RETURN_IF_ERROR(
            PlanOne(look, {nullptr, plan.low_workspace, Thoroughness::kChosen, multiple},
                    max_extra_flops_, /*or_equal=*/false));
      }
    }
    return absl::OkStatus();
  }

  SmallestPlan Take() {
    least_plan_.reset();
    SmallestPlan smallest{nullptr, std::move(visited_)};
    if (taken_ != nullptr) smallest.plan = std::make_unique<PlannedGraph>(std::move(*taken_));
    return smallest;
  }

 private:
  absl::Status Run(double limit) {
    const std::shared_ptr<PlannedGraph> before = least_plan_;
    std::vector<Look> looks;
    for (size_t i = 0; i < rewrites_.size(); ++i) {
      ASHLAR_RETURN_IF_ERROR(LookAt(i, limit, looks));
    }
    if (least_plan_ == before) return absl::OkStatus();
    ASHLAR_RETURN_IF_ERROR(PlanAgain(Nearest(looks), limit));
    ASHLAR_RETURN_IF_ERROR(TryFastKernels());
    if (least_plan_->tiles.empty()) return absl::OkStatus();
    ASHLAR_ASSIGN_OR_RETURN(
        auto fewer,
        WithoutNeedlessTiles(graph_, std::make_unique<PlannedGraph>(*least_plan_), least_));
    if (!(fewer->tiles == least_plan_->tiles)) {
      Offer(std::move(fewer), best_.rewrite, {nullptr, true, Thoroughness::kChosen},
            /*or_equal=*/true);
    }
    return absl::OkStatus();
  }

  // Plans the tilings of a rewrite that are expected to be smallest, some at a time, as long as
  // each may be the smallest of all. Plans that an earlier stage looked at and offered are known.
  absl::Status LookAt(size_t rewrite, double limit, std::vector<Look>& looks) {
    TiledPlans& plans = *rewrites_[rewrite];
    const std::vector<Tiling> tilings = plans.least_tilings(multiple_).Find(limit, least_);
    const size_t count = std::min(tilings.size(), kPlanned);
    size_t operators = 0;
    for (size_t next = 0; next < count && operators < kMostOperators;) {
      std::vector<TiledPlans::Candidate> some;
      std::vector<std::pair<size_t, std::string>> names;
      for (; next < count && some.size() < kTogether; ++next) {
        if (tilings[next].live_bytes >= least_) continue;
        std::pair<size_t, std::string> name(rewrite, tilings[next].spec.ToString());
        const auto known = known_.find(name);
        if (known == known_.end()) {
          names.push_back(std::move(name));
          some.push_back({&tilings[next], true, Thoroughness::kLook});
        } else if (some.empty()) {
          looks.push_back(known->second);
          operators += looks.back().operators;
        } else {
          break;
        }
      }
      ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan(some));
      for (size_t i = 0; i < planned.size(); ++i) {
        if (planned[i] == nullptr || planned[i]->extra_flops_ratio > limit) continue;
        looks.push_back({rewrite, *some[i].tiling, planned[i]->plan.plan.arena,
                         planned[i]->plan.lower_bound, planned[i]->graph.nodes().size()});
        operators += looks.back().operators;
        known_.try_emplace(std::move(names[i]), looks.back());
        if (Offer(std::move(planned[i]), rewrite, some[i], /*or_equal=*/false)) {
          best_ = looks.back();
        }
      }
    }
    return absl::OkStatus();
  }

  // Returns the tilings to plan with more work: the smallest, and the first that was expected of
  // the same rewrite; then the smallest and the first of other rewrites, if they are nearly as
  // small; then others that are as small as the smallest of their rewrite.
  static std::vector<Look> Nearest(const std::vector<Look>& looks) {
    std::vector<size_t> order(looks.size()), chosen;
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return looks[a].arena < looks[b].arena; });
    const auto first_of = [&](size_t rewrite) {
      const auto first = std::find_if(looks.begin(), looks.end(),
                                      [&](const Look& look) { return look.rewrite == rewrite; });
      return static_cast<size_t>(first - looks.begin());
    };
    const auto choose = [&](size_t look) {
      if (std::count(chosen.begin(), chosen.end(), look) == 0) chosen.push_back(look);
    };
    if (!order.empty()) {
      choose(order[0]);
      choose(first_of(looks[order[0]].rewrite));
    }
    const auto best_of = [&](size_t rewrite) {
      return *std::find_if(order.begin(), order.end(),
                           [&](size_t i) { return looks[i].rewrite == rewrite; });
    };
    std::vector<size_t> equal;
    for (const size_t i : order) {
      const double most = kNearlyLeast * static_cast<double>(looks[order[0]].arena);
      if (static_cast<double>(looks[i].arena) > most) break;
      const size_t best = best_of(looks[i].rewrite);
      if (i == best || i == first_of(looks[i].rewrite)) choose(i);
      if (looks[i].arena == looks[best].arena) equal.push_back(i);
    }
    for (const size_t i : equal) choose(i);
    std::vector<Look> nearest;
    for (size_t i = 0; i < std::min(chosen.size(), kThorough); ++i) {
      nearest.push_back(looks[chosen[i]]);
    }
    return nearest;
  }

  // Plans tilings with more work, some at a time, as long as each may be the smallest.
  absl::Status PlanAgain(const std::vector<Look>& looks, double limit) {
    for (size_t next = 0; next < looks.size();) {
      std::vector<const Look*> some;
      for (; next < looks.size() && some.size() < kTogether; ++next) {
        if (looks[next].bound < least_) some.push_back(&looks[next]);
      }
      ASHLAR_RETURN_IF_ERROR(PlanTogether(some, {nullptr, true, Thoroughness::kChosen}, limit,
                                          /*or_equal=*/false));
    }
    return absl::OkStatus();
  }

  // Usually the kernels that need little are the fastest that fit, too.
  absl::Status TryFastKernels() {
    TiledPlans& plans = *rewrites_[best_.rewrite];
    if (plans.kinds().size() == 1) return absl::OkStatus();
    ASHLAR_ASSIGN_OR_RETURN(auto look, plans.Plan({{&best_.tiling, false, Thoroughness::kLook}}));
    if (look[0] == nullptr) return absl::OkStatus();
    if (KernelsOf(*look[0]) != KernelsOf(*least_plan_)) {
      return PlanOne(best_, {nullptr, false, Thoroughness::kChosen},
                     std::numeric_limits<double>::infinity(), /*or_equal=*/true);
    }
    least_plan_->planning.kernels.low_workspace = look[0]->planning.kernels.low_workspace;
    least_plan_->spared = look[0]->spared;
    return absl::OkStatus();
  }

  // Plans a tiling as `how` says, and offers the plan.
  absl::Status PlanOne(const Look& look, const TiledPlans::Candidate& how, double limit,
                       bool or_equal) {
    return PlanTogether({&look}, how, limit, or_equal);
  }

  // The same for several, at the same time.
  absl::Status PlanTogether(const std::vector<const Look*>& looks, const TiledPlans::Candidate& how,
                            double limit, bool or_equal) {
    std::map<size_t, std::vector<size_t>> by_rewrite;
    for (size_t i = 0; i < looks.size(); ++i) by_rewrite[looks[i]->rewrite].push_back(i);
    const std::vector<std::pair<size_t, std::vector<size_t>>> groups(by_rewrite.begin(),
                                                                     by_rewrite.end());
    std::vector<absl::Status> failures(groups.size());
    std::vector<std::unique_ptr<PlannedGraph>> planned(looks.size());
    rewrites_[0]->ForEach(groups.size(), [&](size_t group) {
      const auto& [rewrite, indices] = groups[group];
      std::vector<TiledPlans::Candidate> candidates(indices.size(), how);
      for (size_t k = 0; k < indices.size(); ++k) candidates[k].tiling = &looks[indices[k]]->tiling;
      auto plans = rewrites_[rewrite]->Plan(candidates);
      failures[group] = plans.status();
      for (size_t k = 0; plans.ok() && k < indices.size(); ++k) {
        planned[indices[k]] = std::move((*plans)[k]);
      }
    });
    for (const absl::Status& failure : failures) ASHLAR_RETURN_IF_ERROR(failure);
    for (size_t i = 0; i < looks.size(); ++i) {
      if (planned[i] == nullptr || planned[i]->extra_flops_ratio > limit) continue;
      if (Offer(std::move(planned[i]), looks[i]->rewrite, how, or_equal)) best_ = *looks[i];
    }
    return absl::OkStatus();
  }

  // Returns whether a plan is the best of all stages so far. Keeps it if it is the best within the
  // limit.
  bool Offer(std::unique_ptr<PlannedGraph> planned, size_t rewrite,
             const TiledPlans::Candidate& how, bool or_equal) {
    const PlanPoint point = PlanPoint::Of(*planned);
    const auto is_better = [&](const PlannedGraph* other) {
      if (other == nullptr) return true;
      const PlanPoint than = PlanPoint::Of(*other);
      return IsSmaller(point, than) || (or_equal && !IsSmaller(than, point));
    };
    const std::shared_ptr<PlannedGraph> shared = std::move(planned);
    const bool best = is_better(least_plan_.get());
    if (best) {
      least_plan_ = shared;
      least_ = point.arena;
    }
    if (point.extra_flops <= max_extra_flops_) {
      visited_.push_back(VisitedPlan::Of(*shared, rewrite, how.thorough, how.multiple));
      if (is_better(taken_.get())) taken_ = shared;
    }
    return best;
  }

  const Graph& graph_;  // before the passes
  const absl::Span<const std::unique_ptr<TiledPlans>> rewrites_;
  const double max_extra_flops_;
  const int64_t multiple_;
  int64_t least_ = std::numeric_limits<int64_t>::max();  // bytes, of all stages
  Look best_;                                            // of `least_plan_`, before needless tiles
  std::shared_ptr<PlannedGraph> least_plan_, taken_;
  std::vector<VisitedPlan> visited_;
  std::map<std::pair<size_t, std::string>, Look> known_;  // by rewrite and tiles
};

}  // namespace

absl::StatusOr<SmallestPlan> SmallestOf(const Graph& graph,
                                        absl::Span<const std::unique_ptr<TiledPlans>> rewrites,
                                        double max_extra_flops, int64_t work) {
  Stages stages(graph, rewrites, max_extra_flops, /*multiple=*/1);
  ASHLAR_RETURN_IF_ERROR(stages.RunAll());
  const int64_t usual = rewrites[0]->usual_work();
  if (usual <= 0) return stages.Take();  // the planner searches for nothing
  if (work / usual >= kMultiple) {
    // It starts anew, so that each of both alone never takes more bytes with a higher limit.
    Stages more(graph, rewrites, max_extra_flops, kMultiple);
    ASHLAR_RETURN_IF_ERROR(more.RunAll());
    stages.Add(std::move(more));
  }
  ASHLAR_RETURN_IF_ERROR(stages.WorkOn(work / usual));
  return stages.Take();
}

}  // namespace ashlar
