#include "serialization/recording_summary.h"

#include <gtest/gtest.h>

#include "memory/validator.h"
#include "tests/serialization/real_dump.h"

namespace ashlar {
namespace {

using testing::RealRecording;

TEST(RecordingSummary, MemoryOfTheRealRun) {
  ASHLAR_NEEDS_REAL_DUMP();
  const RecordedMemory memory = SummarizeMemory(RealRecording());
  EXPECT_EQ(memory.vars, 182);
  EXPECT_EQ(memory.extents, 6);
  EXPECT_EQ(memory.union_bytes, 102443008);
  EXPECT_EQ(memory.union_without_input_bytes, 96421888);
  // What an allocator without gaps would have needed with the input in the same memory.
  EXPECT_LE(memory.peak_bytes, memory.union_bytes);
  EXPECT_GE(memory.peak_bytes, 96337920);
}

// The recorded run is a valid plan, and no planner needs more.
TEST(RecordingSummary, PlacementOfTheRealRunIsValid) {
  ASHLAR_NEEDS_REAL_DUMP();
  const RecordedMemory memory = SummarizeMemory(RealRecording());
  const memory::Verdict verdict = memory::ValidatePlan(memory.placement.problem, memory.plan);
  EXPECT_TRUE(verdict.ok()) << verdict.message;
}

TEST(RecordingSummary, TimesOfTheRealRun) {
  ASHLAR_NEEDS_REAL_DUMP();
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
