#include "memory/problem/validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

using ::testing::HasSubstr;
using testing::MakeProblem;

Plan PlanOf(std::vector<int64_t> offsets, int64_t arena) {
  Plan plan;
  plan.offsets = std::move(offsets);
  plan.arena = arena;
  return plan;
}

// Two buffers that are live together, and one after them.
Problem Three() {
  return MakeProblem({{.id = 10, .lower = 0, .upper = 2, .size = 4},
                      {.id = 11, .lower = 1, .upper = 3, .size = 4},
                      {.id = 12, .lower = 3, .upper = 4, .size = 8}});
}

TEST(ValidatorTest, AcceptsAValidPlan) {
  EXPECT_TRUE(ValidatePlan(Three(), PlanOf({0, 4, 0}, 8)).ok());
  EXPECT_TRUE(ValidatePlan({}, PlanOf({}, 0)).ok());
}

TEST(ValidatorTest, NamesBothBuffersOfAnOverlap) {
  const Verdict verdict = ValidatePlan(Three(), PlanOf({0, 3, 0}, 8));
  EXPECT_EQ(verdict.fault, Fault::kOverlap);
  EXPECT_EQ(verdict.first, 1);
  EXPECT_EQ(verdict.second, 0);
  EXPECT_THAT(verdict.message, HasSubstr("buffer 10"));
  EXPECT_THAT(verdict.message, HasSubstr("buffer 11"));
  EXPECT_THAT(verdict.message, HasSubstr("step 1"));
}

TEST(ValidatorTest, SeesOneBufferSwallowAnother) {
  const Problem problem = MakeProblem(
      {{.id = 0, .lower = 0, .upper = 4, .size = 2}, {.id = 1, .lower = 1, .upper = 3, .size = 9}});
  EXPECT_EQ(ValidatePlan(problem, PlanOf({4, 0}, 9)).fault, Fault::kOverlap);
}

TEST(ValidatorTest, NamesEachOtherFault) {
  EXPECT_EQ(ValidatePlan(Three(), PlanOf({0, 4}, 8)).fault, Fault::kWrongCount);
  EXPECT_EQ(ValidatePlan(Three(), PlanOf({0, -4, 0}, 8)).fault, Fault::kOutOfRange);
  EXPECT_EQ(ValidatePlan(Three(), PlanOf({0, INT64_MAX, 0}, 8)).fault, Fault::kOutOfRange);
  EXPECT_EQ(ValidatePlan(Three(), PlanOf({0, 4, 0}, 9)).fault, Fault::kWrongArena);
  EXPECT_EQ(ValidatePlan(Three(), PlanOf({0, 4, 0}, 7)).fault, Fault::kWrongArena);
  Problem aligned = Three();
  aligned.buffers[1].alignment = 8;
  EXPECT_EQ(ValidatePlan(aligned, PlanOf({0, 4, 0}, 8)).fault, Fault::kMisaligned);
  Problem fixed = Three();
  fixed.buffers[1].offset = 6;
  EXPECT_EQ(ValidatePlan(fixed, PlanOf({0, 4, 0}, 8)).fault, Fault::kNotAtFixed);
  Problem related = Three();
  related.inside = {{1, 2, 3}};
  const Verdict verdict = ValidatePlan(related, PlanOf({0, 4, 0}, 8));
  EXPECT_EQ(verdict.fault, Fault::kBrokenInside);
  EXPECT_EQ(verdict.first, 1);
  EXPECT_EQ(verdict.second, 2);
}

// 1 lies in 0, at an offset, and outlives it; 2 is unrelated, and dies with 1.
Problem OneInside(int64_t offset, int64_t lower_1, int64_t lower_2) {
  return MakeProblem({{.id = 0, .lower = 0, .upper = 3, .size = 8},
                      {.id = 1, .lower = lower_1, .upper = 5, .size = 4},
                      {.id = 2, .lower = lower_2, .upper = 5, .size = 4}},
                     {{1, 0, offset}});
}

TEST(ValidatorTest, RelatedBuffersMayOverlapButNotOthers) {
  // 1 overwrites 0 in place; 2 is unrelated and live with both.
  const Problem problem = OneInside(2, 2, 2);
  EXPECT_TRUE(ValidatePlan(problem, PlanOf({0, 2, 8}, 12)).ok());
  EXPECT_EQ(ValidatePlan(problem, PlanOf({0, 2, 6}, 10)).fault, Fault::kOverlap);
  // Without the relation it is an overlap.
  Problem unrelated = problem;
  unrelated.inside.clear();
  EXPECT_EQ(ValidatePlan(unrelated, PlanOf({0, 2, 8}, 12)).fault, Fault::kOverlap);
}

TEST(ValidatorTest, BytesAreFreeOnlyWhenAllThatShareThemDied) {
  // 1 outlives 0 in half of its bytes; 2 is born when only 1 is left.
  const Problem problem = OneInside(4, 0, 3);
  EXPECT_TRUE(ValidatePlan(problem, PlanOf({0, 4, 0}, 8)).ok());
  const Verdict verdict = ValidatePlan(problem, PlanOf({0, 4, 2}, 8));
  EXPECT_EQ(verdict.fault, Fault::kOverlap);
  EXPECT_EQ(verdict.second, 1);
}

// Moves one buffer of a valid plan at random; the verdict must equal a comparison of all pairs.
TEST(ValidatorTest, AgreesWithComparingAllPairs) {
  int faults = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Problem problem =
        testing::RandomProblem(seed, {.buffers = 8, .steps = 9, .largest = 5, .zero_sizes = true});
    std::mt19937 random(seed);
    Plan plan;
    int64_t top = 0;
    for (const Buffer& b : problem.buffers) {
      plan.offsets.push_back(top);
      top += b.size;
    }
    const size_t moved = random() % problem.buffers.size();
    plan.offsets[moved] = static_cast<int64_t>(random() % static_cast<uint64_t>(top + 1));
    bool overlap = false;
    for (size_t i = 0; i < plan.offsets.size(); ++i) {
      const Buffer& a = problem.buffers[i];
      if (a.size > 0) plan.arena = std::max(plan.arena, plan.offsets[i] + a.size);
      for (size_t j = 0; j < i; ++j) {
        const Buffer& b = problem.buffers[j];
        overlap = overlap || (a.size > 0 && b.size > 0 && a.lower < b.upper && b.lower < a.upper &&
                              plan.offsets[i] < plan.offsets[j] + b.size &&
                              plan.offsets[j] < plan.offsets[i] + a.size);
      }
    }
    faults += overlap;
    ASSERT_EQ(ValidatePlan(problem, plan).ok(), !overlap);
  }
  EXPECT_GT(faults, 100);
}

}  // namespace
}  // namespace ashlar::memory
