// Buffers of other compilers: how close plans get to their bounds, by counted work, not by the
// clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "memory/csv.h"
#include "memory/planner.h"
#include "memory/problem/work.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/training_buffers.h"

namespace ashlar::memory {
namespace {

using ashlar::testing::SharedData;

struct Recorded {
  const char* name;  // The name of a file in data/dsa.
  int64_t lower_bound;
  int64_t arena;  // At most.
  std::optional<int64_t> capacity = std::nullopt;
};

constexpr int64_t kMiniMallocCapacity = 1048576;

const Recorded kRecorded[] = {
    // Within the capacity that MiniMalloc's authors set.
    {"minimalloc-A", 1048576, 1048576, kMiniMallocCapacity},
    {"minimalloc-C", 1039360, 1048576, kMiniMallocCapacity},
    {"minimalloc-E", 1048576, 1048576, kMiniMallocCapacity},
    {"minimalloc-G", 1048576, 1048576, kMiniMallocCapacity},
    {"minimalloc-I", 1048576, 1048576, kMiniMallocCapacity},
    {"minimalloc-J", 989184, 1048576, kMiniMallocCapacity},
    {"minimalloc-K", 1048576, 1048576, kMiniMallocCapacity},
    // The smallest arenas possible.
    {"minimalloc-C", 1039360, 1039360},
    {"minimalloc-J", 989184, 1036288, 1036288},
    {"megengine-resnet50", 96337920, 96337920},
    {"megengine-resnet50-inplace", 72272896, 72272896},
    {"somas-resnet50", 1515472556, 1515472556},
    {"somas-tiny-bert", 758936113, 758936113},
    {"somas-bert-base", 15734934689, 15734934689},
    {"iopddl-G1", 3030937746, 3030937746},
    {"iopddl-C", 22378296408, 22378296408},
    {"iopddl-S1", 1498635932, 1501323945},
    {"iree-mobilebert", 1674240, 1674240},
};

class RecordedInstancesTest : public ::testing::TestWithParam<Recorded> {};

TEST_P(RecordedInstancesTest, ReachesItsArena) {
  const Recorded& recorded = GetParam();
  const std::string file = absl::StrCat("data/dsa/", recorded.name, ".csv");
  const absl::StatusOr<CsvProblem> csv = ReadCsvFile(SharedData(file));
  ASSERT_TRUE(csv.ok()) << csv.status();
  PlanOptions options;
  options.limits.work = kEndlessWork;
  options.limits.nodes = 600'000;
  options.limits.capacity = recorded.capacity;
  const absl::StatusOr<PlanResult> result = PlanMemory(csv->problem, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->lower_bound, recorded.lower_bound);
  EXPECT_LE(result->plan.arena, recorded.arena);
  if (recorded.arena == recorded.lower_bound) {
    EXPECT_EQ(ProofText(*result), "optimal (meets the liveness bound)");
  }
}

INSTANTIATE_TEST_SUITE_P(, RecordedInstancesTest, ::testing::ValuesIn(kRecorded),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           if (info.param.capacity.has_value()) {
                             absl::StrAppend(&name, "_within_", *info.param.capacity);
                           }
                           return name;
                         });

// An early stop still gives a good plan: the target is lowered step by step.
TEST(MiniMallocTest, GetsSmallerWithTime) {
  const std::string file = "data/dsa/minimalloc-J.csv";
  const absl::StatusOr<CsvProblem> csv = ReadCsvFile(SharedData(file));
  ASSERT_TRUE(csv.ok()) << csv.status();
  const std::pair<int64_t, int64_t> expected[] = {{50, 1057792}, {100, 1033216}};
  for (const auto& [milliseconds, arena] : expected) {
    PlanOptions options;
    options.limits.work = milliseconds * kWorkPerMillisecond;
    const absl::StatusOr<PlanResult> result = PlanMemory(csv->problem, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_LE(result->plan.arena, arena) << milliseconds << " ms of work";
  }
}

// Plain dives on problems 9, 11, 15 and 21 end 0.004 to 0.13 % above the bound; learning dives on
// problem 10 end 0.25 % above.
TEST(TrainingBuffersTest, MeetTheirBound) {
  for (uint32_t seed = 1; seed <= 21; ++seed) {
    if (ashlar::testing::kSanitized && seed != 9) continue;
    const Problem problem = ashlar::testing::TrainingBuffers(seed);
    PlanOptions options;
    options.limits.work = 1500 * kWorkPerMillisecond;
    const absl::StatusOr<PlanResult> result = PlanMemory(problem, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->plan.arena, result->lower_bound)
        << "seed " << seed << ", " << problem.buffers.size() << " buffers";
  }
}

// Fixing some buffers at their addresses in a plan within the capacity keeps such a plan possible.
TEST(MiniMallocTest, FixedOffsetsOfAPlanKeepIt) {
  for (const char* name : {"A", "C", "I", "K"}) {
    const std::string file = absl::StrCat("data/dsa/minimalloc-", name, ".csv");
    const absl::StatusOr<CsvProblem> csv = ReadCsvFile(SharedData(file));
    ASSERT_TRUE(csv.ok()) << csv.status();
    Problem problem = csv->problem;
    PlanOptions options;
    options.limits = {.work = kEndlessWork, .nodes = 600'000, .capacity = kMiniMallocCapacity};
    const absl::StatusOr<PlanResult> first = PlanMemory(problem, options);
    ASSERT_TRUE(first.ok()) << first.status();
    for (size_t i = 0; i < problem.buffers.size(); i += 20) {
      problem.buffers[i].offset = first->plan.offsets[i];
    }
    const absl::StatusOr<PlanResult> again = PlanMemory(problem, options);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_LE(again->plan.arena, kMiniMallocCapacity) << name;
  }
}

// Time reversed and rows in another order: an equally hard problem, but another path of the search.
TEST(MiniMallocTest, FitsItsCapacityBackwards) {
  for (const char* name : {"A", "C", "G", "J", "K"}) {
    const std::string file = absl::StrCat("data/dsa/minimalloc-", name, ".csv");
    const absl::StatusOr<CsvProblem> csv = ReadCsvFile(SharedData(file));
    ASSERT_TRUE(csv.ok()) << csv.status();
    Problem problem = csv->problem;
    for (Buffer& b : problem.buffers) {
      std::swap(b.lower, b.upper);
      b.lower = -b.lower;
      b.upper = -b.upper;
    }
    std::shuffle(problem.buffers.begin(), problem.buffers.end(), std::mt19937(1));
    PlanOptions options;
    options.limits = {.work = kEndlessWork, .nodes = 600'000, .capacity = kMiniMallocCapacity};
    const absl::StatusOr<PlanResult> result = PlanMemory(problem, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_LE(result->plan.arena, kMiniMallocCapacity) << name;
  }
}

}  // namespace
}  // namespace ashlar::memory
