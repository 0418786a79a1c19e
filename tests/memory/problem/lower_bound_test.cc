#include "memory/problem/lower_bound.h"

#include <gtest/gtest.h>

#include "tests/memory/instances.h"
#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

using testing::MakeProblem;

LowerBound BoundOf(const Problem& problem) {
  return ComputeLowerBound(testing::InstanceOf(problem));
}

TEST(LowerBoundTest, LargestSumOfLiveBytesAndItsStep) {
  const LowerBound bound = BoundOf(MakeProblem({{.id = 0, .lower = 0, .upper = 4, .size = 5},
                                                {.id = 1, .lower = 2, .upper = 6, .size = 4},
                                                {.id = 2, .lower = 4, .upper = 9, .size = 3},
                                                {.id = 3, .lower = 8, .upper = 9, .size = 6}}));
  EXPECT_EQ(bound.bytes, 9);
  EXPECT_EQ(bound.step, 2);
}

TEST(LowerBoundTest, SharedBytesCountOnce) {
  // A view, an overwrite, and two sub-buffers of a whole.
  EXPECT_EQ(BoundOf(MakeProblem({{.id = 0, .lower = 0, .upper = 4, .size = 8},
                                 {.id = 1, .lower = 1, .upper = 6, .size = 4}},
                                {{1, 0, 2}}))
                .bytes,
            8);
  EXPECT_EQ(BoundOf(MakeProblem({{.id = 0, .lower = 0, .upper = 3, .size = 4},
                                 {.id = 1, .lower = 1, .upper = 3, .size = 6},
                                 {.id = 2, .lower = 2, .upper = 5, .size = 10},
                                 {.id = 3, .lower = 0, .upper = 1, .size = 5}},
                                {{0, 2, 0}, {1, 2, 4}}))
                .bytes,
            10);
}

TEST(LowerBoundTest, GapsThatAlignmentForces) {
  // Three of 5 bytes at multiples of 8: 0..5, 8..13, 16..21.
  std::vector<Buffer> buffers(3, {.id = 0, .lower = 0, .upper = 2, .size = 5, .alignment = 8});
  EXPECT_EQ(BoundOf(MakeProblem(buffers)).bytes, 21);
  // A buffer with a smaller alignment can fill the gaps.
  buffers.push_back({.id = 1, .lower = 0, .upper = 2, .size = 4});
  EXPECT_EQ(BoundOf(MakeProblem(buffers)).bytes, 21);
  buffers.push_back({.id = 1, .lower = 0, .upper = 2, .size = 4});
  EXPECT_EQ(BoundOf(MakeProblem(buffers)).bytes, 23);
}

TEST(LowerBoundTest, FixedOffsetsReachHigher) {
  const LowerBound bound =
      BoundOf(MakeProblem({{.id = 0, .lower = 0, .upper = 4, .size = 5},
                           {.id = 1, .lower = 2, .upper = 6, .size = 4, .offset = 20}}));
  EXPECT_EQ(bound.bytes, 24);
  EXPECT_EQ(bound.step, 2);
}

TEST(LowerBoundTest, ProfileFollowsTheSteps) {
  const auto profile = LiveProfile(MakeProblem({{.id = 0, .lower = 0, .upper = 4, .size = 5},
                                                {.id = 1, .lower = 2, .upper = 4, .size = 4},
                                                {.id = 2, .lower = 7, .upper = 9, .size = 3}}));
  ASSERT_TRUE(profile.ok());
  const std::pair<int64_t, int64_t> expected[] = {{0, 5}, {2, 9}, {4, 0}, {7, 3}, {9, 0}};
  ASSERT_EQ(profile->size(), std::size(expected));
  for (size_t i = 0; i < profile->size(); ++i) {
    EXPECT_EQ((*profile)[i].step, expected[i].first);
    EXPECT_EQ((*profile)[i].bytes, expected[i].second);
  }
  EXPECT_TRUE(LiveProfile({})->empty());
}

// The largest entry of the profile is the bound, unless something else raises it.
TEST(LowerBoundTest, BoundIsThePeakOfTheProfile) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Problem problem = testing::RandomProblem(
        seed, {.buffers = 12, .steps = 15, .largest = 9, .relations = seed % 2 == 1});
    const auto profile = LiveProfile(problem);
    ASSERT_TRUE(profile.ok());
    const LowerBound bound = BoundOf(problem);
    int64_t peak = 0;
    int64_t at_step = 0;
    for (const LiveBytes& live : *profile) {
      peak = std::max(peak, live.bytes);
      if (live.step <= bound.step) at_step = live.bytes;
    }
    EXPECT_EQ(bound.bytes, peak);
    EXPECT_EQ(at_step, peak);
  }
}

}  // namespace
}  // namespace ashlar::memory
