#include "memory/heuristics/squeaky_wheel.h"

#include <gtest/gtest.h>

#include "memory/heuristics/dive.h"
#include "memory/problem/lower_bound.h"
#include "tests/memory/instances.h"
#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

// Every attempt is a valid plan, the sequence repeats, and later attempts are better than the
// first.
TEST(SqueakyWheelTest, AttemptsAreValidRepeatAndImprove) {
  int improved = 0;
  testing::ForRandomProblems(20, [&](uint32_t, const Problem& problem, const Instance& instance) {
    const int64_t target = ComputeLowerBound(instance).bytes;
    SqueakyWheel wheel(instance, target);
    SqueakyWheel again(instance, target);
    Work work;
    int64_t plain = INT64_MAX;
    int64_t learned = INT64_MAX;
    for (size_t attempt = 0; attempt < 60; ++attempt) {
      const std::vector<int64_t> bases = wheel.Next(work);
      ASSERT_EQ(bases, again.Next(work));
      ASSERT_TRUE(testing::IsValid(problem, instance.MakePlan(problem, bases)));
      int64_t& best = attempt < std::size(kDivePriorities) ? plain : learned;
      best = std::min(best, instance.Arena(bases));
    }
    improved += learned < plain;
  });
  EXPECT_GT(improved, 8);
}

// With little work allowed, only the first attempt is finished.
TEST(SqueakyWheelTest, StopsInTheMiddleOfADive) {
  const Problem problem = testing::RandomProblem(1, {.buffers = 5000, .steps = 4000});
  const Instance instance = testing::InstanceOf(problem);
  SqueakyWheel wheel(instance, 0);
  Work work;
  const std::vector<int64_t> first = wheel.Next(work, 0);
  EXPECT_TRUE(testing::IsValid(problem, instance.MakePlan(problem, first)));
  EXPECT_EQ(wheel.Next(work, 0), std::vector<int64_t>());
}

}  // namespace
}  // namespace ashlar::memory
