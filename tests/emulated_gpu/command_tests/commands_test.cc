// The command on the emulated GPU: everything that a user does with one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/emulated_gpu/command_tests/emulated_command.h"
#include "tests/support/environment.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(EmulatedCommandTest, DoctorShowsDeviceDriverAndLibraries) {
  SetMachine("memory=123456789,others=456789");
  const ProcessResult doctor = Succeed("doctor");
  for (const char* said : {"Emulated GPU 0, 9.0", "13.0", "cuDNN 9.", "cuBLASLt 13.",
                           "123000000 bytes free of 123456789"}) {
    EXPECT_THAT(doctor.out, HasSubstr(said));
  }
  EXPECT_EQ(State(), "ready");
}

TEST_F(EmulatedCommandTest, SaysWhyThereIsNoDevice) {
  struct Case {
    const char *machine, *said;
  };
  for (const Case& test :
       {Case{"driver=0,devices=0", "no NVIDIA driver on this machine"},
        Case{"driver=12040", "the driver is for CUDA 12.4, this library for 13.0"},
        Case{"devices=0", "no CUDA device"}}) {
    SCOPED_TRACE(test.machine);
    SetMachine(test.machine);
    EXPECT_THAT(State(), HasSubstr(test.said));
    const ProcessResult run = Ashlar("run model.ash --device gpu0:0");
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_THAT(run.err, HasSubstr(test.said));
    EXPECT_THAT(run.err, HasSubstr("can be planned for it, not run"));
    Succeed("plan model.ash --device gpu0:0 --precision fp16");
  }
  SetMachine("devices=2");
  const ProcessResult third = Ashlar("run model.ash --device gpu2:0");
  EXPECT_EQ(third.exit_code, 1);
  EXPECT_THAT(third.err, HasSubstr("there are 2 devices"));
  Succeed("compare model.ash --device gpu1:0");
}

// Ashlar refuses arenas beyond the limit, staging included; otherwise the device itself does.
TEST_F(EmulatedCommandTest, ProbeFindsWhatIsRefused) {
  for (const char* enforced : {"ashlar", "device"}) {
    const nlohmann::json document =
        Succeed(absl::StrCat("probe --op relu --op pool --forward --device gpu0:0 --rounds 2 "
                             "--memory-limit 1MiB --json --quiet --enforce ",
                             enforced))
            .Json();
    EXPECT_EQ(document["rows"].size(), 2u);
    EXPECT_EQ(document["rows"][0]["planned"]["refused"], enforced[0] == 'a' ? 65 : 95);
  }
  SetMachine("memory=2000000,others=1000000");
  const ProcessResult result =
      Ashlar("probe --op relu --forward --device gpu0:0 --enforce device --memory-limit 1MiB");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1000000 bytes free; --memory-limit is 1048576"));
}

struct Variant {
  const char *name, *flags, *tolerance;
  bool searches = false;  // for the smallest plan
};

class EmulatedVariants : public EmulatedCommandTest,
                         public ::testing::WithParamInterface<Variant> {};

TEST_P(EmulatedVariants, EveryCommandWorks) {
  if (GetParam().searches && GetParam().name != std::string("fp32_least") && !LongTests()) {
    GTEST_SKIP() << kTakesLong;
  }
  const std::string on_device = absl::StrCat(" model.ash --device gpu0:0 ", GetParam().flags,
                                             GetParam().searches ? kQuick : "");
  Succeed(absl::StrCat("compare", on_device, " --rtol ", GetParam().tolerance));
  if (!GetParam().searches) {
    Succeed(absl::StrCat("plan", on_device));
    Succeed(absl::StrCat("run", on_device));
    Succeed(absl::StrCat("bench", on_device, " --iterations 3 --warmup 1"));
    Succeed(absl::StrCat("bench", on_device, " --iterations 3 --warmup 1 --in-flight 2"));
    const nlohmann::json profile =
        Succeed(absl::StrCat("profile", on_device, " --json --quiet")).Json();
    EXPECT_FALSE(profile["rows"].empty());
  }
  const nlohmann::json verified =
      Succeed(absl::StrCat("verify", on_device, " --json --quiet")).Json();
  EXPECT_EQ(verified["ok"], true);
  for (const char* pool : {"arena", "weights"}) {
    EXPECT_EQ(verified["pools"][pool]["planned_bytes"], verified["pools"][pool]["actual_bytes"]);
  }
  EXPECT_GT(verified["device_memory"]["taken_bytes"].get<int64_t>(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, EmulatedVariants,
    ::testing::Values(Variant{"fp32", "", "1e-3"}, Variant{"tf32", "--allow-tf32", "1e-2"},
                      Variant{"fp16", "--precision fp16", "3e-2"},
                      Variant{"bf16", "--precision bf16", "2e-1"},
                      Variant{"fp32_least", "--memory-budget min", "1e-3", true},
                      Variant{"tf32_least", "--allow-tf32 --memory-budget min", "1e-2", true},
                      Variant{"fp16_least", "--precision fp16 --memory-budget min", "3e-2", true},
                      Variant{"bf16_least", "--precision bf16 --memory-budget min", "2e-1", true}),
    [](const ::testing::TestParamInfo<Variant>& info) { return info.param.name; });

TEST_F(EmulatedCommandTest, WhatLibrariesRefuseIsDoneInOtherWays) {
  for (const char* machine : {"unfused=1", "whole_images=1", "unfused=1,whole_images=1"}) {
    SCOPED_TRACE(machine);
    SetMachine(machine);
    Succeed("compare model.ash --device gpu0:0");
    if (machine != std::string("unfused=1,whole_images=1") && !LongTests()) continue;
    Succeed(absl::StrCat("compare model.ash --device gpu0:0 --precision fp16 --rtol 3e-2 ",
                         "--memory-budget min", kQuick));
  }
}

TEST_F(EmulatedCommandTest, TunesAndRemembers) {
  const std::string on_device = " model.ash --device gpu0:0 --precision fp16";
  const nlohmann::json tuned = Succeed(absl::StrCat("tune", on_device, " --json --quiet")).Json();
  EXPECT_FALSE(tuned["problems"].empty());
  EXPECT_GT(tuned["compiled_trials"], 0);
  for (const nlohmann::json& problem : tuned["problems"]) {
    const nlohmann::json& chosen = problem["trials"][problem["chosen"].get<size_t>()];
    EXPECT_GT(chosen["ms"], 0);
    EXPECT_GE(chosen["runs"], 7);
    EXPECT_LT(chosen["spread_ms"], 1e-3) << "the emulated clock is exact";
  }
  EXPECT_THAT(Read("kernels.json"), HasSubstr("Emulated GPU 0, 9.0"));
  Succeed(absl::StrCat("compare", on_device, " --rtol 3e-2"));
  EXPECT_EQ(Succeed(absl::StrCat("verify", on_device, " --json --quiet")).Json()["ok"], true);
}

TEST_F(EmulatedCommandTest, BFloat16IsRefusedWhereNoEngineHasIt) {
  SetMachine("capability=75");
  ExpectEndings(
      "run model.ash --device gpu0:0 --precision bf16",
      {{"", 1, "BFloat16 needs a compute capability of 8.0"}, {"", 1, "Emulated GPU 0, 7.5"}});
  Succeed("run model.ash --device gpu0:0 --precision fp16");
}

// A driver may keep some of the host's memory at any time; that is no error of the plan.
TEST_F(EmulatedCommandTest, WhatADriverKeepsIsToldAndNotJudged) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have an allocator of their own";
  SetMachine("keeps=1000");
  const nlohmann::json verified = Succeed("verify model.ash --device gpu0:0 --json --quiet").Json();
  EXPECT_EQ(verified["ok"], true);
  EXPECT_GE(verified["heap"]["library_net_bytes"].get<int64_t>(), 1000);
  EXPECT_EQ(verified["heap"]["own_calls"], 0);
}

// If every candidate fails, tune reports it instead of writing an empty record.
TEST_F(EmulatedCommandTest, TuningThatFailsSaysSo) {
  SetMachine("dies_of=700");
  ExpectEndings("tune model.ash ", {{"--device gpu0:0 --kernels none.json", 1, "start it anew"}});
}

TEST_F(EmulatedCommandTest, WhatDoesNotFitIsSaidBeforeItRuns) {
  SetMachine("memory=65536");
  ExpectEndings("run model.ash --device gpu0:0",
                {{"", 3, "gpu0:0 has 65536 bytes"}, {"", 3, "are needed"}});
  SetMachine("memory=1000000,others=990000");
  ExpectEndings("run model.ash ", {{"--device gpu0:0", 1, "others hold the rest; try again"}});
  SetMachine("memory=1000000");
  Succeed("run model.ash --device gpu0:0");
}

}  // namespace
}  // namespace ashlar::testing
