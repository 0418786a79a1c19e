#include "memory/heuristics/column_fit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/heuristics/dive.h"
#include "memory/problem/lower_bound.h"
#include "tests/memory/instances.h"
#include "tests/memory/problems.h"
#include "tests/support/sanitized.h"
#include "tests/support/training_buffers.h"

namespace ashlar::memory {
namespace {

// Every attempt is a valid plan, and the sequence repeats. A failed attempt restores the plan of
// its line. With more time plans get better.
TEST(ColumnFitTest, AttemptsAreValidRepeatAndImprove) {
  int improved = 0;
  testing::ForRandomProblems(20, [&](uint32_t, const Problem& problem, const Instance& instance) {
    const int64_t target = ComputeLowerBound(instance).bytes;
    ColumnFit fit(instance, target), again(instance, target);
    Work work;
    int64_t first = INT64_MAX, learned = INT64_MAX;
    for (int attempt = 0; attempt < 300; ++attempt) {
      ASSERT_EQ(fit.Next(work), again.Next(work));
      ASSERT_EQ(fit.bases(), again.bases());
      ASSERT_TRUE(testing::IsValid(problem, instance.MakePlan(problem, fit.bases())))
          << "attempt " << attempt;
      learned = std::min(learned, instance.Arena(fit.bases()));
      if (attempt == 0) first = learned;
    }
    improved += learned < first;
  });
  EXPECT_GT(improved, 15);
}

TEST(ColumnFitTest, StopsInTheMiddleOfAnAttempt) {
  const Problem problem = testing::RandomProblem(1, {.buffers = 5000, .steps = 4000});
  const Instance instance = testing::InstanceOf(problem);
  ColumnFit fit(instance, 0);
  Work work;
  EXPECT_FALSE(fit.Next(work, 1));
  ASSERT_TRUE(fit.Next(work));
  const std::vector<int64_t> bases = fit.bases();
  EXPECT_FALSE(fit.Next(work, work.spent() + 1));
  EXPECT_EQ(fit.bases(), bases);
}

// A training step on which no dive gets closer to its bound than 1.0025 within seconds.
TEST(ColumnFitTest, NothingIsWastedAtTheFullestSection) {
  if (ashlar::testing::kSanitized) GTEST_SKIP() << "takes seconds there";
  const Problem problem = ashlar::testing::TrainingBuffers(10);
  const Instance instance = testing::InstanceOf(problem);
  const int64_t target = ComputeLowerBound(instance).bytes;
  ColumnFit fit(instance, target);
  Work work;
  int64_t arena = INT64_MAX;
  while (arena > target && work.spent() < 1000 * kWorkPerMillisecond) {
    if (fit.Next(work)) arena = std::min(arena, instance.Arena(fit.bases()));
  }
  EXPECT_EQ(arena, target);
}

}  // namespace
}  // namespace ashlar::memory
