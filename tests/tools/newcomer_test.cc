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
  const std::string by_table = "kernels: by the table, no record of measured ones\n";
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
  EXPECT_THAT(Ashlar("run -h").out, HasSubstr("where the model pools whatever it gets"));
}

}  // namespace
}  // namespace ashlar::testing
