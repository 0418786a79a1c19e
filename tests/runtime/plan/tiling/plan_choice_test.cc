// Choices among plans, compared with their definitions on random plans.
#include "runtime/plan/tiling/plan_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ashlar {
namespace {

// Returns plans with few values, so that many are equal in one of them.
std::vector<PlanPoint> RandomPlans(std::mt19937_64& random) {
  std::vector<PlanPoint> plans(1 + random() % 12);
  for (PlanPoint& plan : plans) {
    plan = {static_cast<int64_t>(100 + random() % 6), 0.25 * static_cast<double>(random() % 4),
            static_cast<double>(1 + random() % 4)};
  }
  return plans;
}

bool IsNoWorse(const PlanPoint& a, const PlanPoint& b) {
  return a.arena <= b.arena && a.extra_flops <= b.extra_flops && a.ms <= b.ms;
}

TEST(PlanChoice, ParetoOptimalPlansAreThoseThatNoOtherReplaces) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::vector<PlanPoint> plans = RandomPlans(random);
    const std::vector<size_t> optimal = ParetoOptimal(plans);
    for (size_t i = 0; i < plans.size(); ++i) {
      const bool is_chosen = std::count(optimal.begin(), optimal.end(), i) > 0;
      bool replaced = false;
      for (size_t j = 0; j < plans.size(); ++j) {
        const bool first = !IsNoWorse(plans[i], plans[j]) || j < i;
        replaced = replaced || (i != j && IsNoWorse(plans[j], plans[i]) && first);
      }
      EXPECT_EQ(is_chosen, !replaced) << "plan " << i;
    }
    for (size_t k = 1; k < optimal.size(); ++k) {
      EXPECT_LE(plans[optimal[k]].arena, plans[optimal[k - 1]].arena);
    }
  }
}

TEST(PlanChoice, LargerBudgetsNeverTakeMoreOperationsOrTime) {
  int different = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const std::vector<PlanPoint> plans = RandomPlans(random);
    const std::vector<size_t> chosen = PlansForBudgets(plans);
    const PlanPoint& smallest = *std::min_element(plans.begin(), plans.end(), IsSmaller);
    ASSERT_FALSE(chosen.empty());
    EXPECT_EQ(plans[chosen.back()].arena, smallest.arena);
    EXPECT_TRUE(IsNoWorse(plans[chosen.back()], smallest));
    for (size_t k = 1; k < chosen.size(); ++k) {
      EXPECT_LT(plans[chosen[k]].arena, plans[chosen[k - 1]].arena);
      EXPECT_GE(plans[chosen[k]].extra_flops, plans[chosen[k - 1]].extra_flops);
      EXPECT_GE(plans[chosen[k]].ms, plans[chosen[k - 1]].ms);
    }
    // A large budget takes the fewest operations of all plans that are no worse than the smallest.
    for (const PlanPoint& plan : plans) {
      if (plan.extra_flops > smallest.extra_flops || plan.ms > smallest.ms) continue;
      EXPECT_LE(plans[chosen[0]].extra_flops, plan.extra_flops);
    }
    different += chosen.size() > 1;
  }
  EXPECT_GT(different, 100);
  EXPECT_TRUE(PlansForBudgets({}).empty());
}

}  // namespace
}  // namespace ashlar
