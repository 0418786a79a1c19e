// SIGINT during a measurement: no finished measurement is lost.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using InterruptTest = CommandTest;

constexpr char kEndless[] = "bench model.ash --warmup 0 --duration 300s ";

// Regression: bench was killed, with nothing printed.
TEST_F(InterruptTest, BenchShowsTheRunsSoFar) {
  const ProcessResult text = AshlarInterrupted(kEndless, 400);
  EXPECT_EQ(text.exit_code, 130);
  EXPECT_THAT(text.out, HasSubstr("median"));
  EXPECT_THAT(text.err, HasSubstr("model.ash: interrupted after "));

  const ProcessResult json = AshlarInterrupted(kEndless + std::string("--json"), 400);
  ASSERT_EQ(json.exit_code, 130);
  const nlohmann::json document = json.Json();
  EXPECT_EQ(document["interrupted"], true);
  EXPECT_GT(document["iterations"], 0);
  EXPECT_LE(document["latency_ms"]["min"], document["latency_ms"]["median"]);
  EXPECT_EQ(Ashlar("bench model.ash --iterations 1 --warmup 0 --json").Json()["interrupted"],
            false);
}

TEST_F(InterruptTest, BenchEndsWhileItWarmsUp) {
  const ProcessResult result =
      AshlarInterrupted("bench model.ash --warmup 300s --iterations 1", 100);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.out, ::testing::IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("interrupted after 0 runs"));
}

TEST_F(InterruptTest, TuneKeepsWhatItHasTimed) {
  ASSERT_EQ(Ashlar("zoo resnet18 --batch 4 -o r18.ash -q").exit_code, 0);
  const ProcessResult result =
      AshlarInterrupted("tune r18.ash --threads 1 --seconds 300 --json", 1500);
  if (result.exit_code == 0) GTEST_SKIP() << "it was faster";
  ASSERT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr(" kernels are chosen and recorded in kernels.json"));
  const nlohmann::json document = result.Json();
  EXPECT_EQ(document["interrupted"], true);
  size_t timed = 0;
  for (const nlohmann::json& problem : document["problems"]) {
    if (problem["trials"].empty()) continue;
    timed += problem["trials"][problem["chosen"].get<size_t>()]["ms"] > 0;
  }
  size_t recorded = 0;
  if (std::filesystem::exists(Path("kernels.json"))) {
    const nlohmann::json record = nlohmann::json::parse(Read("kernels.json"));
    for (const nlohmann::json& problems : record["processors"]) recorded += problems.size();
  }
  EXPECT_EQ(recorded, timed);
}

}  // namespace
}  // namespace ashlar::testing
