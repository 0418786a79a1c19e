#include "serialization/megengine/recording_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/problem/validator.h"
#include "serialization/megengine/covered_length.h"
#include "tests/serialization/megengine/real_dump.h"
#include "tests/serialization/megengine/small_dump.h"

namespace ashlar {
namespace {

using testing::RealRecording;
using testing::Value;

TEST(RecordingSummary, MemoryOfTheRealRun) {
  const RecordedMemory memory = SummarizeMemory(RealRecording());
  EXPECT_EQ(memory.vars, 182);
  EXPECT_EQ(memory.extents, 6);
  EXPECT_EQ(memory.union_bytes, 102443008);
  EXPECT_EQ(memory.union_without_input_bytes, 96421888);
  // The memory of an allocator without gaps, if the input were in the same memory.
  EXPECT_LE(memory.peak_bytes, memory.union_bytes);
  EXPECT_GE(memory.peak_bytes, 96337920);
}

// The first RELU overwrites the convolution's output: no byte counts twice.
TEST(RecordingSummary, SharedMemoryCountsOnce) {
  testing::GraphMaker maker;
  const int data = maker.Input("data", {1, 3, 8, 8});
  const int filter = maker.Constant(HostTensor::Zeros(DType::kFloat32, Shape{4, 3, 3, 3}));
  const int conv = maker.Add<ConvolutionForward>({}, std::vector<int>{data, filter});
  const int relu = maker.Add<Elemwise>({}, std::vector<int>{conv});
  maker.Output(maker.Add<Elemwise>({}, std::vector<int>{relu}));
  const auto planned = testing::PlanAsRecorded(std::move(maker).Build());
  const RecordedMemory memory = SummarizeMemory(
      Value(ParseProfileDump(ProfileDump(*planned, testing::SmallRecord(*planned)).dump())));
  EXPECT_EQ(planned->lifetimes.num_overwrites, 1);
  EXPECT_FALSE(memory.has_input);
  EXPECT_EQ(memory.union_bytes, planned->graph.var(conv).type.bytes());
  EXPECT_EQ(memory.peak_bytes, memory.union_bytes);
}

TEST(CoveredLength, OfRandomIntervalsAgainstCounting) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    std::vector<std::pair<int64_t, int64_t>> intervals;
    std::vector<int64_t> ends;
    for (uint32_t i = 0; i < 1 + seed % 20; ++i) {
      const int64_t begin = random() % 40, end = begin + random() % 20;
      intervals.emplace_back(begin, end);
      ends.insert(ends.end(), {begin, end});
    }
    CoveredLength covered(ends);
    std::vector<int> count(60, 0);
    std::vector<bool> present(intervals.size(), false);
    for (int step = 0; step < 60; ++step) {
      const size_t i = random() % intervals.size();
      const int change = present[i] ? -1 : 1;
      present[i] = !present[i];
      covered.Change(intervals[i].first, intervals[i].second, change);
      for (int64_t at = intervals[i].first; at < intervals[i].second; ++at) count[at] += change;
      ASSERT_EQ(covered.length(),
                std::count_if(count.begin(), count.end(), [](int c) { return c > 0; }));
    }
  }
}

// The recorded run is a valid plan, and no planner needs more.
TEST(RecordingSummary, PlacementOfTheRealRunIsValid) {
  const RecordedMemory memory = SummarizeMemory(RealRecording());
  const memory::Verdict verdict = memory::ValidatePlan(memory.placement.problem, memory.plan);
  EXPECT_TRUE(verdict.ok()) << verdict.message;
}

TEST(RecordingSummary, TimesOfTheRealRun) {
  TypeTotals all;
  std::map<std::string, TypeTotals> types = TotalsByType(RealRecording());
  for (const auto& [type, totals] : types) all.Add(totals);
  EXPECT_EQ(all.operators, 234);
  EXPECT_NEAR(all.device, 0.02243014526, 1e-10);
  EXPECT_NEAR(all.host, 0.003844, 1e-6);
  EXPECT_EQ(all.computation, 81954092640);
  EXPECT_EQ(all.memory, 2551250656);
  EXPECT_NEAR(types["ConvolutionForward"].device_kernel, 0.015391, 1e-6);
  EXPECT_NEAR(types["ConvolutionForward"].device / all.device, 0.690, 1e-3);
  EXPECT_NEAR(types["Elemwise"].device_kernel, 0.006119, 1e-6);
}

}  // namespace
}  // namespace ashlar
