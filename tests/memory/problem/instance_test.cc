#include "memory/problem/instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

using ::testing::HasSubstr;
using testing::MakeProblem;

std::string ErrorOf(const Problem& problem) {
  return std::string(Instance::Create(problem).status().message());
}

Problem One(Buffer buffer) { return MakeProblem({buffer}); }

TEST(InstanceTest, RejectsWhatIsNoBuffer) {
  EXPECT_THAT(ErrorOf(One({.id = 7, .lower = 3, .upper = 3, .size = 1})),
              HasSubstr("buffer 7 (index 0): empty lifetime [3, 3)"));
  EXPECT_THAT(ErrorOf(One({.id = 7, .lower = 4, .upper = 3, .size = 1})), HasSubstr("reversed"));
  EXPECT_THAT(ErrorOf(One({.id = 7, .lower = 0, .upper = 3, .size = -1})),
              HasSubstr("negative size -1"));
  EXPECT_THAT(ErrorOf(One({.id = 7, .lower = 0, .upper = 3, .size = 1, .alignment = 24})),
              HasSubstr("alignment 24"));
  EXPECT_THAT(ErrorOf(One({.id = 7, .lower = INT64_MIN, .upper = INT64_MAX, .size = 1})),
              HasSubstr("outside of +-2^62"));
  EXPECT_THAT(ErrorOf(One({.id = 7, .lower = 0, .upper = 1, .size = kMaxBytes, .alignment = 2})),
              HasSubstr("2^62"));
  EXPECT_EQ(ErrorOf(One({.id = 7, .lower = 0, .upper = 1, .size = kMaxBytes})), "");
}

TEST(InstanceTest, RejectsRelationsThatCannotHold) {
  const std::vector<Buffer> buffers = {{.id = 20, .lower = 0, .upper = 2, .size = 8},
                                       {.id = 21, .lower = 1, .upper = 3, .size = 4},
                                       {.id = 22, .lower = 2, .upper = 4, .size = 2}};
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{3, 0, 0}})), HasSubstr("buffer index 3"));
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 1, 0}})), HasSubstr("inside of itself"));
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, 5}})), HasSubstr("do not fit"));
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, -1}})), HasSubstr("do not fit"));
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, INT64_MAX}})), HasSubstr("do not fit"));
  // 22 lies at byte 0 of 20 by one path, and at 1 + 0 by the other.
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, 1}, {2, 1, 0}, {2, 0, 0}})),
              HasSubstr("buffer 2"));
  EXPECT_EQ(ErrorOf(MakeProblem(buffers, {{1, 0, 1}, {2, 1, 0}, {2, 0, 1}})), "");
}

TEST(InstanceTest, RejectsAlignmentsAndOffsetsThatContradictInAGroup) {
  std::vector<Buffer> buffers = {{.id = 20, .lower = 0, .upper = 2, .size = 64, .alignment = 16},
                                 {.id = 21, .lower = 1, .upper = 3, .size = 4, .alignment = 8}};
  EXPECT_EQ(ErrorOf(MakeProblem(buffers, {{1, 0, 24}})), "");
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, 20}})), HasSubstr("alignment 8 contradicts"));
  buffers[1].offset = 40;
  EXPECT_EQ(ErrorOf(MakeProblem(buffers, {{1, 0, 24}})), "");
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, 48}})), HasSubstr("fixed offset 40"));
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, 32}})), HasSubstr("off its alignment"));
  buffers[0].offset = 32;
  EXPECT_THAT(ErrorOf(MakeProblem(buffers, {{1, 0, 24}})), HasSubstr("fixed offset 40"));
}

TEST(InstanceTest, SectionsAreMaximalSets) {
  // Births at 0, 1, 2, a death at 3, a birth at 3, deaths at 5.
  const Problem problem = MakeProblem({{.id = 0, .lower = 0, .upper = 3, .size = 1},
                                       {.id = 1, .lower = 1, .upper = 5, .size = 1},
                                       {.id = 2, .lower = 2, .upper = 5, .size = 1},
                                       {.id = 3, .lower = 3, .upper = 5, .size = 1}});
  const auto instance = Instance::Create(problem);
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ(instance->sections(), 2);
  EXPECT_EQ(instance->section_step(0), 2);
  EXPECT_EQ(instance->section_step(1), 3);
  EXPECT_EQ(instance->begin(0), 0);
  EXPECT_EQ(instance->end(0), 1);
  EXPECT_EQ(instance->begin(3), 1);
  EXPECT_EQ(instance->end(1), 2);
  const auto fine = Instance::Create(problem, Cut::kEveryEvent);
  EXPECT_EQ(fine->sections(), 4);  // [0,1) [1,2) [2,3) [3,5)
  EXPECT_EQ(fine->begin(2), 2);
  EXPECT_EQ(fine->end(2), 4);
}

TEST(InstanceTest, BuffersMeetIfAndOnlyIfTheirSectionsDo) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Problem problem = testing::RandomProblem(seed, {.buffers = 10, .steps = 12});
    for (Cut cut : {Cut::kMaximalSets, Cut::kEveryEvent}) {
      const auto instance = Instance::Create(problem, cut);
      ASSERT_TRUE(instance.ok());
      for (int i = 0; i < 10; ++i) {
        for (int j = 0; j < i; ++j) {
          const Buffer& a = problem.buffers[i];
          const Buffer& b = problem.buffers[j];
          EXPECT_EQ(a.lower < b.upper && b.lower < a.upper,
                    instance->begin(i) < instance->end(j) && instance->begin(j) < instance->end(i));
        }
      }
    }
  }
}

TEST(InstanceTest, EqualSizesInPlaceAreOneRectangle) {
  const Problem problem = MakeProblem({{.id = 0, .lower = 0, .upper = 3, .size = 8},
                                       {.id = 1, .lower = 2, .upper = 5, .size = 8},
                                       {.id = 2, .lower = 4, .upper = 7, .size = 3}},
                                      {{1, 0, 0}, {2, 1, 5}});
  const auto instance = Instance::Create(problem, Cut::kEveryEvent);
  ASSERT_TRUE(instance.ok());
  ASSERT_EQ(instance->groups(), 1);
  const auto rects = instance->rects(0);
  ASSERT_EQ(rects.size(), 2u);
  EXPECT_EQ(rects[0].bottom, 0);
  EXPECT_EQ(rects[0].top, 8);
  EXPECT_EQ(rects[1].bottom, 5);
  EXPECT_EQ(rects[1].top, 8);
  EXPECT_EQ(rects[0].end, rects[1].begin);
  EXPECT_EQ(instance->section_step(rects[1].begin), 5);
  EXPECT_FALSE(instance->all_flat());
}

}  // namespace
}  // namespace ashlar::memory
