// Problems of first-time users that no other test covers; benchmarks/results/tried.md lists all.
#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using NewcomerTest = CommandTest;

// Regression: a hidden file decided how large weights are, and no output said so.
TEST_F(NewcomerTest, CommandsNameTheRecordOfKernels) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o s.ash -q").exit_code, 0);
  const std::string by_table = "kernels: chosen by a table; `ashlar tune` measures them\n";
  for (const char* command : {"plan", "verify", "bench"}) {
    SCOPED_TRACE(command);
    EXPECT_THAT(Ashlar(absl::StrCat(command, " s.ash")).out, HasSubstr(by_table));
    EXPECT_TRUE(Ashlar(absl::StrCat(command, " s.ash --json")).Json()["kernel_record"].is_null());
  }
  const ProcessResult tuned = Ashlar("tune s.ash --threads 2 --seconds 1 --json");
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  if (!std::filesystem::exists(Path("kernels.json"))) GTEST_SKIP() << "nothing was to choose";
  for (const char* command : {"plan", "verify", "bench"}) {
    SCOPED_TRACE(command);
    const json record =
        Ashlar(absl::StrCat(command, " s.ash --threads 2 --json")).Json()["kernel_record"];
    EXPECT_EQ(record["path"], "kernels.json");
    EXPECT_GT(record["answered"].get<int>(), 0);
    EXPECT_LE(record["answered"], record["problems"]);
    EXPECT_THAT(Ashlar(absl::StrCat(command, " s.ash --threads 2")).out,
                HasSubstr(absl::StrCat("kernels: ", record["answered"].get<int>(), " of ")));
    EXPECT_THAT(Ashlar(absl::StrCat(command, " s.ash --threads 2 --no-autotune")).out,
                HasSubstr(by_table));
  }
  EXPECT_THAT(Ashlar("doctor").out, HasSubstr("kernels.json: "));
  EXPECT_EQ(Ashlar("doctor --json").Json()["kernel_record"], "kernels.json");
}

// Regression: with more work allowed, it chose tiles that compute more and are slower, for the same
// arena.
TEST_F(NewcomerTest, AllowedWorkThatDoesNotPayIsNotDone) {
  if (kSanitized) GTEST_SKIP() << "about tiles alone";
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o s.ash -q").exit_code, 0);
  for (const char* budget : {"59392", "80000", "120000"}) {
    SCOPED_TRACE(budget);
    const std::string plan = absl::StrCat(
        "plan s.ash --threads 1 --processor avx512/32K/1M --json --memory-budget ", budget);
    const ProcessResult any = Ashlar(plan), little = Ashlar(plan + " --max-extra-flops 0.05");
    ASSERT_EQ(any.exit_code, 0) << any.err;
    if (little.exit_code == 3) continue;
    EXPECT_LE(any.Json()["predicted_ms"], little.Json()["predicted_ms"]);
  }
}

// Regression: a refused budget showed the smallest plan as if it were the requested one, and no
// other way to save memory.
TEST_F(NewcomerTest, ARefusedBudgetNamesOtherWays) {
  const struct {
    std::string command;
    const char* refusal;  // with the given and a sufficient size
    std::vector<std::string> ways, others;
  } cases[] = {
      {"plan model.ash --memory-budget 64",
       "--memory-budget is 64 bytes, the smallest that was found",
       {"--precision fp16", "--release-input", "--shape", "ashlar quantize"},
       {"--max-extra-flops", "--batch"}},
      {"run model.ash --memory-budget 64 --max-extra-flops 0",
       "no plan fits the memory budget of 64 bytes; the smallest that was found takes ",
       {"a larger --max-extra-flops", "--precision fp16"},
       {}},
      {"bench model.ash --memory-budget 64 --precision fp16 --release-input",
       "no plan fits the memory budget of 64 bytes",
       {"--shape"},
       {"--precision fp16,", "--release-input ("}},
      {"verify model.ash --total-budget 1000 --tile none",
       "no plan fits the total budget of 1000 bytes",
       {"no --tile", "ashlar quantize"},
       {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.command);
    const ProcessResult refused = Ashlar(absl::StrCat(c.command, " -q", kQuick));
    EXPECT_EQ(refused.exit_code, 3);
    const size_t line = refused.err.find('\n');
    ASSERT_NE(line, std::string::npos);
    EXPECT_THAT(refused.err.substr(0, line), HasSubstr(c.refusal));
    const std::string advice = refused.err.substr(line + 1);
    EXPECT_THAT(advice, ::testing::StartsWith("  it may fit with: "));
    for (const std::string& way : c.ways) EXPECT_THAT(advice, HasSubstr(way));
    for (const std::string& way : c.others) EXPECT_THAT(advice, ::testing::Not(HasSubstr(way)));
  }
  // The report begins with the refusal, too.
  EXPECT_THAT(Ashlar(absl::StrCat("plan model.ash --memory-budget 64", kQuick)).out,
              ::testing::StartsWith("model.ash does not fit: --memory-budget is 64 bytes"));
  // Other errors have no such line.
  EXPECT_THAT(Ashlar("plan model.ash --capacity 1").err,
              ::testing::Not(HasSubstr("it may fit with")));
}

// Regression: an empty shape ended in an error of some operator, and the message about a malformed
// shape named an option in the place of an example.
TEST_F(NewcomerTest, ShapesThatAreNoneAreNamed) {
  ExpectEndings("plan model.ash --shape data=",
                {{"0x3x16x16", 2, "--shape data=0x3x16x16: dimension 0 is 0, expected 1 or more"},
                 {"1x3x0x16", 2, "dimension 2 is 0, expected 1 or more"},
                 {"1xax16x16", 2, "'1xax16x16' is not a shape, such as 1x3x224x224"},
                 {"1x-3x16x16", 2, "is not a shape, such as 1x3x224x224"},
                 {"''", 2, "'' is not a shape, such as 1x3x224x224"}});
}

// Regression: help and reports spoke of "parts" (tiles) and "on record" (measured).
TEST_F(NewcomerTest, HelpUsesPlainWords) {
  for (const char* command : {"plan", "run", "verify", "bench", "profile", "tune", "compare",
                              "train", "convert", "quantize", "probe", "compile", "fit"}) {
    const std::string help = Ashlar(absl::StrCat(command, " -h")).out;
    EXPECT_THAT(help, HasSubstr("Usage: ashlar"));
    for (const char* unclear : {" in parts", "parts may", "on record", "given up", "found out"}) {
      EXPECT_THAT(help, ::testing::Not(HasSubstr(unclear))) << command;
    }
  }
}

// Regression: the column of the passes was taken for the arena, and constants counted as steps.
TEST_F(NewcomerTest, ColumnsSayWhatTheyCount) {
  const std::string text = Ashlar("plan model.ash").out;
  EXPECT_THAT(text, ::testing::ContainsRegex("[0-9]+ steps, [0-9]+ of them operators, planned in"));
  EXPECT_THAT(text, ::testing::ContainsRegex("pass +operators +peak before +after +saved\n"));
}

// Regression: the help stated neither the units of --mean nor the other option's default. Giving
// one of the two switched off the other's default.
TEST_F(NewcomerTest, MeanAndScaleSayTheirUnitsAndDefaults) {
  const std::string help = Ashlar("run -h").out;
  EXPECT_THAT(help, HasSubstr("of 0 to 255 in photographs (default there: ImageNet's, or 0"));
  EXPECT_THAT(help, HasSubstr("(default for photographs: ImageNet's, or 1"));
  Write("p.ppm", "P6\n2 1\n255\n\x01\x20\xff\x80\x40\xc8");
  const std::string run = "run model.ash --input p.ppm --resize stretch --json ";
  EXPECT_EQ(Ashlar(run + "--mean 9,8,7").Json()["outputs"],
            Ashlar(run + "--mean 9,8,7 --scale 1").Json()["outputs"]);
  EXPECT_EQ(Ashlar(run + "--scale 0.01").Json()["outputs"],
            Ashlar(run + "--mean 0 --scale 0.01").Json()["outputs"]);
  ExpectEndings("run model.ash --input p.ppm --mean ",
                {{"a,b,c", 2, "'a,b,c' is not a list of numbers with commas"}});
}

// Regression: only one zoo model took images of other sizes, and one gave class 14672 of a
// thousand.
TEST_F(NewcomerTest, OtherSizesOfImagesHaveTheModelsClasses) {
  for (const char* model : {"squeezenet", "mobilenet_v2"}) {
    SCOPED_TRACE(model);
    ASSERT_EQ(Ashlar(absl::StrCat("zoo ", model, " --image 64 -o m.ash -q")).exit_code, 0);
    const ProcessResult run = Ashlar("run m.ash --shape data=2x3x96x96 --json");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.Json()["outputs"][0]["shape"], json({2, 1000}));
  }
  EXPECT_THAT(Ashlar("run -h").out, HasSubstr("if the model takes any size"));
}

}  // namespace
}  // namespace ashlar::testing
