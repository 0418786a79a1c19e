// Problems of equal rounds: a plan of one round is valid for all.
#include "memory/heuristics/rounds.h"

#include <gtest/gtest.h>

#include "memory/heuristics/dive.h"
#include "memory/heuristics/first_fit.h"
#include "memory/planner.h"
#include "memory/problem/lower_bound.h"
#include "memory/problem/validator.h"
#include "memory/problem/work.h"
#include "tests/memory/instances.h"
#include "tests/memory/packed_problem.h"
#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

// Repeats `once`, whose last step is `steps`, `rounds` times. Each round leaves a result of
// `result` bytes that lives until the end.
Problem InRounds(const Problem& once, int rounds, int64_t steps, int64_t result) {
  Problem problem;
  const auto add = [&](Buffer b) {
    b.id = static_cast<int64_t>(problem.buffers.size());
    problem.buffers.push_back(b);
  };
  for (int round = 0; round < rounds; ++round) {
    const int first = static_cast<int>(problem.buffers.size());
    for (Buffer b : once.buffers) {
      b.lower += round * steps;
      b.upper += round * steps;
      add(b);
    }
    for (const Inside& r : once.inside) {
      problem.inside.push_back({first + r.inner, first + r.outer, r.offset});
    }
    if (result > 0) {
      add({.lower = (round + 1) * steps - 1, .upper = rounds * steps + 1, .size = result});
    }
  }
  return problem;
}

using testing::InstanceOf;

TEST(RoundsTest, ImagesAreFoldedIntoOne) {
  constexpr int64_t kSteps = 2000, kBytes = 1 << 16, kResult = 64;
  const Problem once = testing::PackedProblem(5, {.buffers = 200, .steps = kSteps});
  for (const int rounds : {2, 3, 10}) {
    SCOPED_TRACE(rounds);
    const Problem problem = InRounds(once, rounds, kSteps, kResult);
    const Instance whole = InstanceOf(problem);
    const int64_t bound = ComputeLowerBound(whole).bytes;
    ASSERT_EQ(bound, kBytes + rounds * kResult);
    const std::optional<FoldedInstance> folded = FoldRounds(whole, bound);
    ASSERT_TRUE(folded.has_value());
    EXPECT_EQ(folded->lower_bound, bound) << "the last results are all there when a round ends";
    EXPECT_EQ(folded->instance.groups(), InstanceOf(once).groups() + rounds);
  }
}

// A plan of one round is valid for all, whatever lives beside, before and after the rounds.
TEST(RoundsTest, WhatIsValidForOneIsValidForAll) {
  int folds = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    testing::Variety variety = testing::VarietyOf(seed, 12);
    variety.steps += 8;
    const Problem once = testing::RandomProblem(seed, variety);
    const int rounds = 2 + static_cast<int>(seed % 3);
    Problem problem = InRounds(once, rounds, variety.steps, seed % 2);
    variety.fixed = false;
    variety.buffers = 4;
    variety.steps *= rounds;
    const int first = static_cast<int>(problem.buffers.size());
    const Problem others = testing::RandomProblem(seed + 1000, variety);
    problem.buffers.insert(problem.buffers.end(), others.buffers.begin(), others.buffers.end());
    for (const Inside& r : others.inside) {
      problem.inside.push_back({first + r.inner, first + r.outer, r.offset});
    }
    const Instance whole = InstanceOf(problem);
    const std::optional<FoldedInstance> folded = FoldRounds(whole, ComputeLowerBound(whole).bytes);
    if (!folded) continue;
    ++folds;
    EXPECT_LE(folded->instance.groups(), whole.groups() * 2 / 3 + 1);
    Work work;
    const std::vector<int64_t> bases =
        PlaceFirstFit(folded->instance, DiveOrder(folded->instance, DivePriority::kArea), work);
    const Plan plan = whole.MakePlan(problem, folded->Unfold(bases));
    ASSERT_TRUE(testing::IsValid(problem, plan));
    EXPECT_EQ(plan.arena, folded->instance.Arena(bases));
    EXPECT_GE(plan.arena, folded->lower_bound);
  }
  EXPECT_GT(folds, 30);
}

TEST(RoundsTest, NoneAreFoundWhereThereAreNone) {
  const Instance packed = InstanceOf(testing::PackedProblem(1, {.buffers = 400}));
  EXPECT_FALSE(FoldRounds(packed, ComputeLowerBound(packed).bytes).has_value());
  EXPECT_FALSE(FoldRounds(InstanceOf({}), 0).has_value());
  // Equal buffers that each live into the next one's life do not share an address.
  Problem chain;
  for (int64_t i = 0; i < 20; ++i) {
    chain.buffers.push_back({.id = 2 * i, .lower = 2 * i, .upper = 2 * i + 3, .size = 5});
    chain.buffers.push_back({.id = 2 * i + 1, .lower = 2 * i, .upper = 2 * i + 3, .size = 7});
  }
  const Instance overlapping = InstanceOf(chain);
  EXPECT_FALSE(FoldRounds(overlapping, ComputeLowerBound(overlapping).bytes).has_value());
}

// Regression: four images were planned as one problem, with a quarter of the work for each.
TEST(RoundsTest, FourImagesArePlannedLikeOne) {
  constexpr int64_t kSteps = 2000, kResult = 64;
  const Problem once = testing::PackedProblem(3, {.buffers = 2500, .steps = kSteps, .dropped = 3});
  PlanOptions options;
  options.limits.work = 40 * kWorkPerMillisecond;
  const absl::StatusOr<PlanResult> one = PlanMemory(InRounds(once, 1, kSteps, kResult), options);
  ASSERT_TRUE(one.ok()) << one.status();
  const Problem problem = InRounds(once, 4, kSteps, kResult);
  options.limits.work = options.limits.work / 7 * 8;  // one of the 8 shares is for the whole
  const absl::StatusOr<PlanResult> four = PlanMemory(problem, options);
  ASSERT_TRUE(four.ok()) << four.status();
  EXPECT_LE(four->plan.arena, one->plan.arena + 4 * kResult);
  EXPECT_GT(one->plan.arena, one->lower_bound) << "an easy problem shows nothing";
}

}  // namespace
}  // namespace ashlar::memory
