// The main promise, tested as a process: ResNet-50 uses the planned memory, and no more.
#include <gtest/gtest.h>

#include "runtime/measure/heap/heap_counter.h"
#include "tests/support/command/command_process.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kProcessBytes = 60'000'000;  // code, libraries and their generated kernels

class VerifyResNet50Test : public CommandTest {};

TEST_F(VerifyResNet50Test, ActualIsPlannedAndWeightsAreInMemoryOnce) {
  if (kSanitized) GTEST_SKIP() << "verified on smaller models";
  ASSERT_EQ(Ashlar("zoo resnet50 --batch 1 -o resnet50.ash --quiet").exit_code, 0);
  for (const char* threads : {"1", "2"}) {
    const ProcessResult result =
        Ashlar(std::string("verify resnet50.ash --json --quiet --threads ") + threads);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json document = result.Json();
    EXPECT_TRUE(document["ok"]);
    int64_t pools = 0;
    for (const char* name : {"arena", "weights", "input", "output"}) {
      const nlohmann::json& pool = document["pools"][name];
      EXPECT_EQ(pool["actual_bytes"], pool["planned_bytes"]) << name;
      pools += pool["planned_bytes"].get<int64_t>();
    }
    EXPECT_EQ(document["pools"]["arena"]["planned_bytes"], 5218304);
    EXPECT_TRUE(document["overruns"].empty());
    if (!HeapCountingAvailable()) continue;  // sanitizers have a heap of their own, with overhead
    EXPECT_EQ(document["heap"]["own_calls"], 0);
    EXPECT_EQ(document["heap"]["library_calls"], 0);
    EXPECT_EQ(document["heap"]["library_net_bytes"], 0);
    EXPECT_LE(document["rss"]["after"].get<int64_t>(), pools + kProcessBytes);
  }
  EXPECT_EQ(Ashlar("verify resnet50.ash --quiet --understate 64").exit_code, 4);
}

}  // namespace
}  // namespace ashlar::testing
