#include "runtime/plan/tiling/budget_plans.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

// Tilings that are expected to take up to so many times as long as the fastest are hardly slower.
constexpr double kHardlySlower = 1.25;
// How far the time of a plan may be from the estimate of its tiling, which adds up segments.
constexpr double kTimeError = 0.01;
// In graphs of so few operators, so many tilings are planned whose peaks are known exactly.
constexpr int kFewOperators = 12;
constexpr size_t kExactly = 3;
// Points of a frontier differ by at least this factor in bytes, operations or time.
constexpr double kNear = 0.85;

// Returns the longest time that is hardly slower than the fastest.
double LongestOf(const std::vector<Tiling>& tilings) {
  return tilings.empty() ? 0 : kHardlySlower * tilings[0].ms;
}

bool AreNear(const PlanPoint& a, const PlanPoint& b) {
  const auto near = [](double x, double y) { return std::min(x, y) > kNear * std::max(x, y); };
  return near(static_cast<double>(a.arena), static_cast<double>(b.arena)) &&
         near(1 + a.extra_flops, 1 + b.extra_flops) && near(a.ms, b.ms);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> BudgetPlans::AgainWithin(int64_t bytes,
                                                                       VisitedPlan visited) const {
  const VisitedPlan before = visited;
  visited.thorough = Thoroughness::kChosen;
  ASHLAR_ASSIGN_OR_RETURN(auto planned, rewrites_.Again(visited));
  if (planned->plan.plan.arena <= bytes) return planned;
  return rewrites_.Again(before);
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> BudgetPlans::FastWithin(int64_t bytes) const {
  TiledPlans& plans = *rewrites_.plans()[0];
  const std::vector<Tiling>& tilings = plans.tilings(0).best;  // the fastest first
  std::unique_ptr<PlannedGraph> fastest;
  double enough = LongestOf(tilings);
  for (const Tiling& tiling : tilings) {
    if (tiling.arena_bytes > bytes) continue;
    if (tiling.ms > enough) break;
    std::vector<TiledPlans::Candidate> candidates;
    for (const bool low_workspace : plans.kinds()) candidates.push_back({&tiling, low_workspace});
    ASHLAR_ASSIGN_OR_RETURN(auto planned, plans.Plan(candidates));
    // The fast kernels come first.
    const auto fits = std::find_if(planned.begin(), planned.end(), [&](const auto& plan) {
      return plan != nullptr && plan->plan.plan.arena <= bytes;
    });
    if (fits == planned.end()) continue;
    if (fastest == nullptr || (*fits)->predicted_ms < fastest->predicted_ms) {
      fastest = std::move(*fits);
      enough = std::min(enough, fastest->predicted_ms * (1 + kTimeError));
    }
  }
  // Untiled, the graph may be faster without a pass.
  ASHLAR_RETURN_IF_ERROR(rewrites_.AddOthers());
  for (const std::unique_ptr<TiledPlans>& other : rewrites_.plans().subspan(1)) {
    if (other->untiled_bound() > bytes || other->EstimateUntiled() >= enough) continue;
    for (const bool low_workspace : other->kinds()) {
      ASHLAR_ASSIGN_OR_RETURN(auto untiled, other->PlanUntiled(low_workspace));
      if (untiled->plan.plan.arena > bytes) continue;
      if (fastest == nullptr || untiled->predicted_ms < fastest->predicted_ms) {
        fastest = std::move(untiled);
        enough = std::min(enough, fastest->predicted_ms);
      }
      break;
    }
  }
  if (fastest == nullptr || fastest->tiles.empty()) return fastest;
  return AgainWithin(bytes, VisitedPlan::Of(*fastest, 0, Thoroughness::kCandidate));
}

absl::Status BudgetPlans::Search() {
  if (std::exchange(searched_, true)) return absl::OkStatus();
  ASHLAR_RETURN_IF_ERROR(rewrites_.AddOthers());
  const TiledPlans& as_requested = *rewrites_.plans()[0];
  ASHLAR_ASSIGN_OR_RETURN(SmallestPlan found,
                          SmallestOf(graph_, rewrites_.plans(), as_requested.max_extra_flops(),
                                     as_requested.requested_work()));
  smallest_ = std::move(found.plan);
  visited_.insert(visited_.end(), found.visited.begin(), found.visited.end());
  return smallest_ == nullptr ? absl::OkStatus() : FindExactly();
}

// Plans more tilings of the graph as it was requested.
absl::Status BudgetPlans::Visit(const Tiling& tiling, const std::vector<bool>& low_workspace,
                                Thoroughness thorough) {
  TiledPlans& plans = *rewrites_.plans()[0];
  std::vector<TiledPlans::Candidate> candidates;
  for (const bool low : low_workspace) candidates.push_back({&tiling, low, thorough});
  ASHLAR_ASSIGN_OR_RETURN(const auto planned, plans.Plan(candidates));
  for (const auto& plan : planned) {
    if (plan == nullptr || plan->extra_flops_ratio > plans.max_extra_flops()) continue;
    visited_.push_back(VisitedPlan::Of(*plan, 0, thorough));
  }
  return absl::OkStatus();
}

absl::Status BudgetPlans::FindExactly() {
  TiledPlans& plans = *rewrites_.plans()[0];
  if (plans.operators() > kFewOperators) return absl::OkStatus();
  const size_t before = visited_.size();
  const std::vector<Tiling>& tilings = plans.tilings(0).smallest;
  for (size_t i = 0; i < std::min(tilings.size(), kExactly); ++i) {
    ASHLAR_RETURN_IF_ERROR(Visit(tilings[i], {plans.kinds().back()}, Thoroughness::kChosen));
  }
  const auto smallest = std::min_element(
      visited_.begin() + static_cast<std::ptrdiff_t>(before), visited_.end(),
      [](const VisitedPlan& a, const VisitedPlan& b) { return IsSmaller(a.point, b.point); });
  if (smallest == visited_.end() || !IsSmaller(smallest->point, PlanPoint::Of(*smallest_))) {
    return absl::OkStatus();
  }
  ASHLAR_ASSIGN_OR_RETURN(smallest_, rewrites_.Again(*smallest));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> BudgetPlans::Smallest() {
  ASHLAR_RETURN_IF_ERROR(Search());
  return std::move(smallest_);
}

std::vector<PlanPoint> BudgetPlans::Points() const {
  std::vector<PlanPoint> points;
  for (const VisitedPlan& visited : visited_) points.push_back(visited.point);
  return points;
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> BudgetPlans::Within(int64_t bytes,
                                                                  const PlanPoint& smallest) {
  ASHLAR_RETURN_IF_ERROR(Search());
  TiledPlans& plans = *rewrites_.plans()[0];
  const std::vector<Tiling>& tilings = plans.tilings(0).best;
  for (const Tiling& tiling : tilings) {
    if (tiling.ms <= LongestOf(tilings)) continue;
    ASHLAR_RETURN_IF_ERROR(Visit(tiling, plans.kinds(), Thoroughness::kLook));
  }
  std::vector<PlanPoint> points = Points();
  points.push_back(smallest);
  for (const size_t plan : PlansForBudgets(points)) {
    if (points[plan].arena > bytes) continue;
    if (plan == visited_.size()) break;
    return AgainWithin(bytes, visited_[plan]);
  }
  return nullptr;
}

absl::StatusOr<std::vector<std::unique_ptr<PlannedGraph>>> BudgetPlans::Frontier() {
  TiledPlans& plans = *rewrites_.plans()[0];
  for (const double limit : std::set<double>{0, plans.max_extra_flops()}) {
    double last = std::numeric_limits<double>::infinity();
    for (const Tiling& tiling : plans.tilings(limit).best) {
      const auto bytes = static_cast<double>(tiling.arena_bytes);
      if (bytes > kNear * last) continue;
      last = bytes;
      ASHLAR_RETURN_IF_ERROR(Visit(tiling, {plans.kinds()[0]}, Thoroughness::kChosen));
    }
  }
  ASHLAR_RETURN_IF_ERROR(Search());
  const std::vector<PlanPoint> points = Points();
  std::vector<size_t> chosen;
  const std::vector<size_t> optimal = ParetoOptimal(points);
  // From the smallest, which is always there.
  for (auto plan = optimal.rbegin(); plan != optimal.rend(); ++plan) {
    const auto is_near = [&](size_t other) { return AreNear(points[*plan], points[other]); };
    if (std::none_of(chosen.begin(), chosen.end(), is_near)) chosen.push_back(*plan);
  }
  std::vector<std::unique_ptr<PlannedGraph>> frontier;
  for (auto plan = chosen.rbegin(); plan != chosen.rend(); ++plan) {
    ASHLAR_ASSIGN_OR_RETURN(frontier.emplace_back(), rewrites_.Again(visited_[*plan]));
  }
  return frontier;
}

}  // namespace ashlar
