// The command and gpu0:0, with and without the library and a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

class GpuCommandTest : public CommandTest {
 protected:
  // Returns `doctor`'s state of gpu0:0: "ready", or the reason why not.
  static std::string State() {
    return Ashlar("doctor --json --quiet").Json()["facts"]["gpu0:0"].get<std::string>();
  }
  static bool HasLibrary() { return State().find("was not opened") == std::string::npos; }
};

TEST_F(GpuCommandTest, WithoutTheLibraryEveryCommandSaysHowToGetIt) {
  for (const char* arguments : {"plan model.ash --device gpu", "run model.ash --device cuda",
                                "bench model.ash --device gpu0:0 --precision fp16"}) {
    const ProcessResult result = AshlarAlone(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("device gpu0:0: "));
    EXPECT_THAT(result.err, HasSubstr("libashlar_cuda.so"));
    EXPECT_THAT(result.err, HasSubstr("build it from Ashlar's sources"));
  }
  EXPECT_EQ(AshlarAlone("run model.ash --quiet").exit_code, 0) << "the CPU needs no such library";
  const ProcessResult doctor = AshlarAlone("doctor");
  EXPECT_EQ(doctor.exit_code, 0);
  EXPECT_THAT(doctor.out, HasSubstr("libashlar_cuda.so"));
}

TEST_F(GpuCommandTest, PlansWithoutADevice) {
  if (!HasLibrary()) GTEST_SKIP() << State();
  const ProcessResult full = Ashlar("plan model.ash --device gpu0:0 --json --quiet");
  ASSERT_EQ(full.exit_code, 0) << full.err;
  const nlohmann::json document = full.Json();
  EXPECT_EQ(document["device"], "gpu0:0");
  EXPECT_GE(document["pools"]["arena"]["planned_bytes"].get<int64_t>(),
            document["arena"]["lower_bound_bytes"].get<int64_t>());
  const ProcessResult half =
      Ashlar("plan model.ash --device gpu0:0 --precision fp16 --json --quiet");
  ASSERT_EQ(half.exit_code, 0) << half.err;
  const nlohmann::json of_half = half.Json();
  EXPECT_LT(of_half["pools"]["weights"]["planned_bytes"].get<int64_t>(),
            document["pools"]["weights"]["planned_bytes"].get<int64_t>() * 6 / 10);
  bool precision = false;
  for (const nlohmann::json& pass : of_half["passes"]) precision |= pass["name"] == "precision";
  EXPECT_TRUE(precision);
  for (const nlohmann::json& pass : document["passes"]) EXPECT_NE(pass["name"], "precision");
}

TEST_F(GpuCommandTest, PlansWithinABudgetWithoutADevice) {
  if (!HasLibrary()) GTEST_SKIP() << State();
  const ProcessResult whole = Ashlar("plan model.ash --device gpu0:0 --json --quiet");
  const ProcessResult least =
      Ashlar("plan model.ash --device gpu0:0 --memory-budget min --plan-time 20ms --json --quiet");
  ASSERT_EQ(least.exit_code, 0) << least.err;
  const auto arena = [](const ProcessResult& result) {
    return result.Json()["pools"]["arena"]["planned_bytes"].get<int64_t>();
  };
  EXPECT_LT(arena(least), arena(whole));
  EXPECT_GT(least.Json()["predicted_ms"].get<double>(), 0);
  const ProcessResult refused =
      Ashlar("plan model.ash --device gpu0:0 --memory-budget 1000 --plan-time 20ms");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("does not fit"));
}

TEST_F(GpuCommandTest, WithoutADeviceARunSaysSo) {
  if (!HasLibrary()) GTEST_SKIP() << State();
  if (State() == "ready") GTEST_SKIP() << "a device answers";
  for (const char* command : {"run", "bench", "profile", "verify", "compare", "tune"}) {
    const ProcessResult result = Ashlar(std::string(command) + " model.ash --device gpu0:0");
    EXPECT_EQ(result.exit_code, 1) << command;
    EXPECT_THAT(result.err, HasSubstr("gpu0:0: no CUDA device"));
    EXPECT_THAT(result.err, HasSubstr("can be planned for it, not run"));
  }
}

TEST_F(GpuCommandTest, RunsOnADevice) {
  if (State() != "ready") GTEST_SKIP() << State();
  EXPECT_EQ(Ashlar("compare model.ash --device gpu0:0 --rtol 1e-3 --quiet").exit_code, 0);
  EXPECT_EQ(Ashlar("compare model.ash --device gpu0:0 --precision fp16 --rtol 3e-2").exit_code, 0);
  const ProcessResult verify = Ashlar("verify model.ash --device gpu0:0 --json --quiet");
  EXPECT_EQ(verify.exit_code, 0) << verify.err;
  EXPECT_GT(verify.Json()["device_memory"]["taken_bytes"].get<int64_t>(), 0);
}

}  // namespace
}  // namespace ashlar::testing
