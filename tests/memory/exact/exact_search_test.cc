#include "memory/exact/exact_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "memory/exact/order_search.h"
#include "tests/memory/instances.h"
#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

using testing::BruteForce;
using testing::InstanceOf;
using testing::IsValid;
using testing::RandomProblem;
using testing::VarietyOf;

// Expects a found result to be a plan within the capacity.
void ExpectFits(const Problem& problem, const Instance& instance, const std::vector<int64_t>& bases,
                int64_t capacity) {
  const Plan plan = instance.MakePlan(problem, bases);
  EXPECT_TRUE(IsValid(problem, plan));
  EXPECT_LE(plan.arena, capacity);
}

// Finds the smallest arena, and proves that nothing smaller fits, whatever the order of choices.
TEST(ExactSearchTest, CompleteOnSmallProblems) {
  int complete = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Problem problem = RandomProblem(seed, VarietyOf(seed, 3 + static_cast<int>(seed % 4)));
    const Instance instance = InstanceOf(problem);
    if (!ExactSearch::Accepts(instance)) continue;
    ExactSearch search(instance, Alignment::kKept);
    if (!search.complete()) continue;
    ++complete;
    const int64_t smallest = BruteForce(problem).SmallestArena();
    std::vector<int32_t> rank(instance.groups());
    std::iota(rank.begin(), rank.end(), 0);
    std::mt19937 random(seed);
    Work work;
    for (BranchRule rule : kBranchRules) {
      std::shuffle(rank.begin(), rank.end(), random);
      const auto run = [&](int64_t capacity) {
        return search.Run(capacity, rule, rank, 100000, work, kEndlessWork);
      };
      ASSERT_EQ(run(smallest), SearchOutcome::kFound);
      ExpectFits(problem, instance, search.bases(), smallest);
      if (smallest == 0) continue;
      ASSERT_EQ(run(smallest - 1), SearchOutcome::kExhausted);
      ASSERT_LE(search.NextArena(smallest - 1), smallest);
    }
  }
  EXPECT_GT(complete, 1250);
}

TEST(OrderSearchTest, CompleteOnSmallProblems) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Problem problem = RandomProblem(seed, VarietyOf(seed, 3 + static_cast<int>(seed % 4)));
    const Instance instance = InstanceOf(problem);
    OrderSearch search(instance);
    Work work;
    const int64_t smallest = BruteForce(problem).SmallestArena();
    ASSERT_EQ(search.Run(smallest, 100000, work, kEndlessWork), SearchOutcome::kFound);
    ExpectFits(problem, instance, search.bases(), smallest);
    if (smallest == 0) continue;
    ASSERT_EQ(search.Run(smallest - 1, 100000, work, kEndlessWork), SearchOutcome::kExhausted);
    ASSERT_LE(search.NextArena(smallest - 1), smallest);
  }
}

}  // namespace
}  // namespace ashlar::memory
