// Parts of a problem: few groups live across their borders, and planned groups keep their bases.
#include "memory/heuristics/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "memory/planner.h"

namespace ashlar::memory {
namespace {

// Stages of 40 short-lived buffers beside each other in time, with one buffer from each stage to
// the next. Stage 2 needs the most.
Problem Stages() {
  Problem problem;
  const auto add = [&](int64_t lower, int64_t upper, int64_t size) {
    Buffer buffer;
    buffer.id = static_cast<int64_t>(problem.buffers.size());
    buffer.lower = lower;
    buffer.upper = upper;
    buffer.size = size;
    problem.buffers.push_back(buffer);
  };
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t begin = 50 * stage;
    for (int64_t i = 0; i < 40; ++i) add(begin + i, begin + i + 3, stage == 2 ? 640 : 64);
    add(begin + 41, begin + 60, 128);  // until the next stage
  }
  return problem;
}

TEST(PartsTest, BordersLieWhereFewGroupsLive) {
  const absl::StatusOr<Instance> instance = Instance::Create(Stages());
  ASSERT_TRUE(instance.ok()) << instance.status();
  const std::vector<TimePart> parts = FindParts(*instance);
  ASSERT_GE(parts.size(), 4u);
  EXPECT_EQ(parts.front().begin, 0);
  EXPECT_EQ(parts.back().end, instance->sections());
  for (size_t i = 1; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].begin, parts[i - 1].end);
    int across = 0;
    for (int32_t g = 0; g < instance->groups(); ++g) {
      across += instance->begin(g) < parts[i].begin && parts[i].begin < instance->end(g);
    }
    EXPECT_LE(across, 2);
  }
}

TEST(PartsTest, TheFullestIsFirstAndOthersFollowBesideIt) {
  const absl::StatusOr<Instance> instance = Instance::Create(Stages());
  ASSERT_TRUE(instance.ok());
  const std::vector<TimePart> parts = FindParts(*instance);
  const std::vector<size_t> order = FullestFirst(*instance, parts);
  ASSERT_EQ(order.size(), parts.size());
  size_t first = order[0], last = order[0];
  for (size_t i = 1; i < order.size(); ++i) {
    EXPECT_TRUE(order[i] + 1 == first || order[i] == last + 1) << order[i];
    first = std::min(first, order[i]);
    last = std::max(last, order[i]);
  }
  const PartInstance fullest =
      MakePart(*instance, parts[order[0]], std::vector<int64_t>(instance->groups(), -1));
  const auto size = [&](int32_t g) { return instance->height(g); };
  EXPECT_TRUE(std::any_of(fullest.groups.begin(), fullest.groups.end(),
                          [&](int32_t g) { return size(g) == 640; }));
}

TEST(PartsTest, GroupsWithBasesAreFixed) {
  const absl::StatusOr<Instance> instance = Instance::Create(Stages());
  ASSERT_TRUE(instance.ok());
  const std::vector<TimePart> parts = FindParts(*instance);
  std::vector<int64_t> bases(instance->groups(), -1);
  bases[0] = 4096;
  const PartInstance part = MakePart(*instance, parts[0], bases);
  ASSERT_EQ(part.instance.groups(), static_cast<int>(part.groups.size()));
  for (int i = 0; i < part.instance.groups(); ++i) {
    EXPECT_EQ(part.instance.fixed(i), part.groups[i] == 0 ? 4096 : -1);
    EXPECT_EQ(part.instance.height(i), instance->height(part.groups[i]));
  }
}

TEST(PartsTest, PlannedPartByPartTheBoundIsMet) {
  const absl::StatusOr<PlanResult> plan = PlanMemory(Stages());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->plan.arena, plan->lower_bound);
}

}  // namespace
}  // namespace ashlar::memory
