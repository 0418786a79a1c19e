// Every network of the zoo as a process, on small images. Later runs allocate nothing, memory is as
// planned, and the number of threads changes no bit.
#include <gtest/gtest.h>

#include "runtime/measure/heap/heap_counter.h"
#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

struct ZooRun {
  const char *name, *flags;
};

class ZooRunsTest : public CommandTest, public ::testing::WithParamInterface<ZooRun> {};

TEST_P(ZooRunsTest, AsPlannedWithoutAllocationsAndTheSameOnAnyThreads) {
  const std::string make = std::string("zoo ") + GetParam().name + GetParam().flags;
  ASSERT_EQ(Ashlar(make + " -o zoo.ash --quiet").exit_code, 0);
  for (const char* threads : {"1", "2"}) {
    const ProcessResult result =
        Ashlar(std::string("verify zoo.ash --json --quiet --threads ") + threads);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    const nlohmann::json document = result.Json();
    EXPECT_TRUE(document["ok"]);
    if (!HeapCountingAvailable()) continue;  // sanitizers have a heap of their own
    EXPECT_EQ(document["heap"]["own_calls"], 0);
    EXPECT_EQ(document["heap"]["library_calls"], 0);
  }
  const nlohmann::json plan = Ashlar("plan zoo.ash --json --quiet").Json();
  for (const nlohmann::json& workspace : plan["workspaces"]) {
    const int64_t bytes = workspace["bytes"], offset = workspace["offset"];
    EXPECT_GT(bytes, 0) << workspace;
    EXPECT_GE(offset, 0) << workspace;
    EXPECT_LE(offset + bytes, plan["pools"]["arena"]["planned_bytes"].get<int64_t>()) << workspace;
    EXPECT_FALSE(workspace["kernel"].get<std::string>().empty()) << workspace;
  }
  ASSERT_EQ(Ashlar("run zoo.ash --quiet --threads 1 -o one.npz").exit_code, 0);
  for (const char* threads : {"2", "3"}) {
    ASSERT_EQ(Ashlar(std::string("run zoo.ash --quiet -o more.npz --threads ") + threads).exit_code,
              0);
    EXPECT_TRUE(Read("more.npz") == Read("one.npz")) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooRunsTest,
                         ::testing::Values(ZooRun{"resnet18", " --image 97"},
                                           ZooRun{"mobilenet_v2", " --image 96 --batch 2"},
                                           ZooRun{"squeezenet", " --image 71"},
                                           ZooRun{"inception_v1", " --image 96"},
                                           ZooRun{"vgg19", " --image 64 --headless"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ashlar::testing
