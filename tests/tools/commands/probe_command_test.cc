// ashlar probe: the sizes of the recorded run, in every round, by plans and by refused allocations.
#include <gmock/gmock.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

class ProbeCommandTest : public CommandTest {};

// Sizes recorded from other systems at 64 MiB, without workspaces and alignment. If they differ
// from round to round, these are the first round's.
struct RecordedRow {
  const char *op, *mode;
  bool keep_previous;
  int64_t size;
};

class RecordedSizes : public ProbeCommandTest, public ::testing::WithParamInterface<RecordedRow> {};

// Uses less memory under sanitizers, which saves time.
TEST_P(RecordedSizes, AreThoseOfEveryRound) {
  const RecordedRow& row = GetParam();
  const ProcessResult result =
      Ashlar(absl::StrCat("probe --op ", row.op, row.mode[0] == 't' ? " --train" : " --forward",
                          row.keep_previous ? " --keep-previous" : "", " --json -q --rounds 4",
                          " --memory-limit ", kSanitized ? "1MiB" : "64MiB"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json document = result.Json();
  ASSERT_EQ(document["rows"].size(), 1u);
  const nlohmann::json& found = document["rows"][0];
  EXPECT_EQ(found["mode"], row.mode);
  if (!kSanitized) {
    EXPECT_EQ(found["planned"]["refused"], row.size);
  }
  ASSERT_EQ(found["rounds"].size(), 4u);
  for (const nlohmann::json& round : found["rounds"]) EXPECT_EQ(round, found["planned"]);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, RecordedSizes,
    ::testing::Values(
        RecordedRow{"conv", "forward", false, 780}, RecordedRow{"conv", "training", false, 530},
        RecordedRow{"pool", "forward", false, 1035}, RecordedRow{"pool", "training", false, 710},
        RecordedRow{"log", "forward", false, 780}, RecordedRow{"log", "training", false, 530},
        RecordedRow{"relu", "forward", false, 780}, RecordedRow{"relu", "training", false, 530},
        RecordedRow{"conv", "forward", true, 585}, RecordedRow{"conv", "training", true, 400},
        RecordedRow{"pool", "forward", true, 780}, RecordedRow{"pool", "training", true, 530},
        RecordedRow{"log", "forward", true, 585}, RecordedRow{"log", "training", true, 400},
        RecordedRow{"relu", "forward", true, 585}, RecordedRow{"relu", "training", true, 400}),
    [](const ::testing::TestParamInfo<RecordedRow>& info) {
      return absl::StrCat(info.param.op, "_", info.param.mode,
                          info.param.keep_previous ? "_keeping" : "");
    });

TEST_F(ProbeCommandTest, BytesAreThoseOfTensorsAndWeights) {
  // y = log(x) of S^2 for each of 16 channels; with gradients twice as much.
  const nlohmann::json document = Ashlar("probe --op log --memory-limit 1MiB --json -q").Json();
  for (const nlohmann::json& row : document["rows"]) {
    const int64_t size = row["planned"]["fits"], tensors = row["mode"] == "forward" ? 2 : 4;
    EXPECT_EQ(row["planned"]["bytes"], tensors * 64 * size * size);
  }
}

// Without our own limit the system's applies, in a child process per row.
TEST_F(ProbeCommandTest, TheSystemRefusesAtTheSameSizes) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take addresses of their own";
  for (const char* keeping : {"", " --keep-previous"}) {
    const ProcessResult result =
        Ashlar(absl::StrCat("probe --memory-limit 4MiB --enforce rlimit --rounds 2", keeping));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  }
}

TEST_F(ProbeCommandTest, BatchesOfModelsGrow) {
  for (const auto& [mode, unit] :
       {std::pair{"--forward", 1}, {"--train", 1}, {"--train --batch 3", 3}}) {
    const ProcessResult result =
        Ashlar(absl::StrCat("probe model.ash --memory-limit 1MiB --growth 1.5 --json -q ", mode));
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    const nlohmann::json row = result.Json()["rows"][0];
    EXPECT_GT(row["planned"]["fits"], 1);
    EXPECT_EQ(row["planned"]["fits"].get<int64_t>() % unit, 0);
  }
}

TEST_F(ProbeCommandTest, BothControlsAreCaught) {
  ExpectEndings("probe --op relu --op conv --memory-limit 2MiB ",
                {{"--understate 64", 4, "relu: round 1: size "},
                 {"--understate 1MiB", 4, " was refused, and by the plans "},
                 {"--keep-session", 4, "relu: round 1: "}});
}

TEST_F(ProbeCommandTest, RefusesWhatMakesNoSense) {
  ExpectUsageErrors("probe ", {{"--op tanh", "tanh"},
                               {"model.ash --op log", "one or the other"},
                               {"--forward --train", "without both, both are probed"},
                               {"--enforce device", "needs --device gpu0:0"},
                               {"--enforce rlimit --device gpu0:0", "no such limit"},
                               {"model.ash --train --freeze '('", "no regular expression"},
                               {"--growth 1", "--growth"}});
  ExpectEndings("probe ",
                {{"--memory-limit 1kB", 3, "conv: size 5 needs "}, {"none.ash", 6, "none.ash"}});
}

}  // namespace
}  // namespace ashlar::testing
