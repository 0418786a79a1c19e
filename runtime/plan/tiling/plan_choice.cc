#include "runtime/plan/tiling/plan_choice.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ashlar {
namespace {

bool IsCheaper(const PlanPoint& a, const PlanPoint& b) {
  return std::tie(a.extra_flops, a.ms, a.arena) < std::tie(b.extra_flops, b.ms, b.arena);
}

// Returns whether a plan does no more operations, and takes no more time.
bool CostsNoMore(const PlanPoint& a, const PlanPoint& b) {
  return a.extra_flops <= b.extra_flops && a.ms <= b.ms;
}

}  // namespace

bool IsSmaller(const PlanPoint& a, const PlanPoint& b) {
  return std::tie(a.arena, a.extra_flops, a.ms) < std::tie(b.arena, b.extra_flops, b.ms);
}

std::vector<size_t> ParetoOptimal(absl::Span<const PlanPoint> plans) {
  std::vector<size_t> order(plans.size()), optimal;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return IsSmaller(plans[a], plans[b]); });
  // Plans that are in no way worse come before.
  for (const size_t plan : order) {
    if (std::none_of(optimal.begin(), optimal.end(),
                     [&](size_t other) { return CostsNoMore(plans[other], plans[plan]); })) {
      optimal.push_back(plan);
    }
  }
  std::reverse(optimal.begin(), optimal.end());
  return optimal;
}

std::vector<size_t> PlansForBudgets(absl::Span<const PlanPoint> plans) {
  std::vector<size_t> chosen;
  if (plans.empty()) return chosen;
  const PlanPoint& smallest = *std::min_element(plans.begin(), plans.end(), IsSmaller);
  while (chosen.empty() || plans[chosen.back()].arena > smallest.arena) {
    const PlanPoint* next = &smallest;
    for (const PlanPoint& plan : plans) {
      if (!CostsNoMore(plan, smallest) || !IsCheaper(plan, *next)) continue;
      if (!chosen.empty()) {
        const PlanPoint& larger = plans[chosen.back()];
        if (plan.arena >= larger.arena || !CostsNoMore(larger, plan)) continue;
      }
      next = &plan;
    }
    chosen.push_back(static_cast<size_t>(next - plans.data()));
  }
  return chosen;
}

}  // namespace ashlar
