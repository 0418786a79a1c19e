// Exact search through the planner, on problems of hundreds of buffers.
#include <gtest/gtest.h>

#include <vector>

#include "memory/planner.h"
#include "memory/problem/work.h"
#include "tests/memory/packed_problem.h"

namespace ashlar::memory {
namespace {

struct Packed {
  const char* name;
  testing::Packing packing;
};

// Hundreds of buffers that fill the arena to the last byte, with every feature of a problem: the
// search reaches the bound.
TEST(ExactPlannerTest, MeetsTheBoundOfHundredsOfBuffers) {
  const Packed cases[] = {
      {"plain", {}},
      {"some left out", {.dropped = 5}},
      {"fixed", {.fixed = 5}},
      {"many fixed, some left out", {.dropped = 5, .fixed = 25}},
      {"aligned", {.alignments = true}},
      {"aligned, fixed", {.fixed = 5, .alignments = true}},
      {"overhangs", {.related = 20}},
      {"many overhangs, some left out", {.dropped = 5, .related = 80}},
      {"everything", {.dropped = 10, .fixed = 5, .related = 20, .alignments = true}},
      {"a thousand and more, fixed", {.buffers = 1200, .time_cuts = 85, .fixed = 5}},
      {"a thousand and more overhangs", {.buffers = 1200, .time_cuts = 90, .related = 20}},
  };
  for (const Packed& c : cases) {
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      SCOPED_TRACE(::testing::Message() << c.name << ", seed " << seed);
      const Problem problem = testing::PackedProblem(seed, c.packing);
      ASSERT_GT(problem.buffers.size(), 300u);
      const PlanOptions options = {.planner = "exact",
                                   .limits = {.work = kEndlessWork, .nodes = 200'000}};
      const absl::StatusOr<PlanResult> result = PlanMemory(problem, options);
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->proof, Proof::kOptimal) << ProofText(*result);
      EXPECT_EQ(result->plan.offsets, PlanMemory(problem, options)->plan.offsets);
    }
  }
}

// Repeats fifty times buffers that do not fit an arena of their bound. Beside them lives a group
// with an overhang or a fixed offset.
TEST(ExactPlannerTest, ExcludesTheBoundOfHundredsOfBuffers) {
  const std::vector<Buffer> above_bound = {
      {.lower = 3, .upper = 6, .size = 2}, {.lower = 0, .upper = 4, .size = 3},
      {.lower = 3, .upper = 7, .size = 1}, {.lower = 6, .upper = 8, .size = 3},
      {.lower = 7, .upper = 9, .size = 3}, {.lower = 1, .upper = 2, .size = 3},
      {.lower = 5, .upper = 7, .size = 2}, {.lower = 8, .upper = 9, .size = 2}};
  Problem problem;
  for (int copy = 0; copy < 50; ++copy) {
    for (Buffer b : above_bound) {
      b.lower += 10 * copy;
      b.upper += 10 * copy;
      problem.buffers.push_back(b);
    }
  }
  const int first = static_cast<int>(problem.buffers.size());
  problem.buffers.push_back({.lower = 600, .upper = 602, .size = 1});
  problem.buffers.push_back({.lower = 602, .upper = 604, .size = 3});
  Problem overhang = problem;
  overhang.inside.push_back({first, first + 1, 1});
  Problem fixed = problem;
  fixed.buffers[first].offset = 2;
  for (const Problem& p : {problem, overhang, fixed}) {
    const absl::StatusOr<PlanResult> result =
        PlanMemory(p, {.planner = "exact", .limits = {.work = kEndlessWork, .nodes = 1'000'000}});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->lower_bound, 6);
    EXPECT_EQ(result->plan.arena, 7);
    EXPECT_EQ(ProofText(*result), "optimal (search exhausted)");
  }
}

}  // namespace
}  // namespace ashlar::memory
