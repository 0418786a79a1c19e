// Plan files on the command line: written by `plan`, read by --plan, compared by --diff.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/command/command_process.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class PlanFileTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    const ProcessResult plan = Ashlar(
        absl::StrCat("plan model.ash --threads 1 --memory-budget min -o m.plan --json", kQuick));
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    arena_ = plan.Json()["pools"]["arena"]["planned_bytes"];
  }
  static inline int64_t arena_ = 0;
};

TEST_F(PlanFileTest, ItIsWhatTheSchemaDescribes) {
  const std::string root = SourceFolder();
  const int status =
      std::system(absl::StrCat("python3 '", root, "/scripts/validate_json.py' '", root,
                               "/docs/plan.schema.json' '", Path("m.plan"), "'")
                      .c_str());
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "needs Debian's python3-jsonschema";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PlanFileTest, EveryCommandThatRunsTakesIt) {
  const json plan = json::parse(Read("m.plan"));
  EXPECT_FALSE(plan["options"]["tile"].get<std::string>().empty());
  EXPECT_EQ(plan["pools"]["arena_bytes"], arena_);

  const ProcessResult fresh = Ashlar(
      absl::StrCat("run model.ash --threads 1 --memory-budget min -o fresh.npz --json", kQuick));
  const ProcessResult run = Ashlar("run model.ash --plan m.plan -o recorded.npz --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(Read("fresh.npz") == Read("recorded.npz"));
  EXPECT_EQ(run.Json()["threads"], 1) << "those of the plan";
  EXPECT_EQ(run.Json()["outputs"], fresh.Json()["outputs"]);

  const ProcessResult verify = Ashlar("verify model.ash --plan m.plan --json");
  ASSERT_EQ(verify.exit_code, 0) << verify.err;
  EXPECT_EQ(verify.Json()["pools"]["arena"]["planned_bytes"], arena_);
  EXPECT_EQ(verify.Json()["pools"]["arena"]["actual_bytes"], arena_);
  EXPECT_EQ(Ashlar("verify model.ash --plan m.plan --understate 64").exit_code, 4);

  const ProcessResult bench =
      Ashlar("bench model.ash --plan m.plan --warmup 0 --iterations 2 --json");
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_EQ(bench.Json()["memory"]["arena_bytes"], arena_);
  EXPECT_EQ(Ashlar("profile model.ash --plan m.plan --warmup 0 --dump d.json").exit_code, 0);
  EXPECT_EQ(Ashlar("compare model.ash --plan m.plan").exit_code, 0);
  EXPECT_EQ(Ashlar("compare model.ash --plan m.plan --passes-b none").exit_code, 0);
}

TEST_F(PlanFileTest, ItIsTheSameTextEveryTime) {
  if (kSanitized) GTEST_SKIP() << "about the text alone";
  for (const char* options : {"--format plan > again.plan", "-o - --format plan > again.plan",
                              "--format plan -q -o again.plan"}) {
    const std::string command =
        absl::StrCat("plan model.ash --threads 1 --memory-budget min", kQuick, " ", options);
    ASSERT_EQ(Ashlar(command).exit_code, 0);
    EXPECT_EQ(Read("again.plan"), Read("m.plan")) << options;
  }
}

// Regression: a plan that exceeded its budget was written as if it fitted.
TEST_F(PlanFileTest, APlanThatDoesNotFitIsNotWritten) {
  const ProcessResult result =
      Ashlar(absl::StrCat("plan model.ash --memory-budget 1KiB -o tight.plan --json", kQuick));
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(result.Json()["fits"], false);
  EXPECT_FALSE(std::filesystem::exists(Path("tight.plan")));
}

TEST_F(PlanFileTest, WhatDoesNotSuitIsAUsageError) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o other.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("zoo resnet18 --image 64 --seed 1 -o a.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("zoo resnet18 --image 64 --seed 2 -o b.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("plan a.ash -o a.plan").exit_code, 0);
  std::string other_version = Read("m.plan");
  ASSERT_EQ(absl::StrReplaceAll({{"\"version\": 1,", "\"version\": 9,"}}, &other_version), 1);
  Write("v9.plan", other_version);
  ASSERT_EQ(Ashlar("plan model.ash --processor baseline/32K/64K -o baseline.plan").exit_code, 0);
  const struct {
    const char* arguments;
    const char* message;
  } cases[] = {
      {"run other.ash --plan m.plan", "is the plan of another model"},
      {"run b.ash --plan a.plan", "is the plan of another model"},  // other weights
      {"run model.ash --plan m.plan --shape data=1x3x16x16", "is the plan of another model"},
      {"run model.ash --plan m.plan --threads 2", "--threads 2: the plan m.plan is for 1"},
      {"bench model.ash --plan m.plan --threads 2", "--threads 2: the plan m.plan is for 1"},
      {"verify model.ash --plan m.plan --threads 2", "--threads 2: the plan m.plan is for 1"},
      {"run model.ash --plan m.plan --device gpu0:0", "the plan m.plan is for cpu0:0"},
      {"run model.ash --plan m.plan --tile 0-9:rows2", "--tile excludes --plan"},
      {"run model.ash --plan m.plan --exact", "--exact excludes --plan"},
      {"run model.ash --plan v9.plan", "format version 9, this program reads 1"},
      {"plan model.ash --diff m.plan -o x.csv", "expected a .html or .htm file"},
      {"plan buffers.csv --format plan", "plan files are of models"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.arguments);
    const ProcessResult result = Ashlar(c.arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.message));
  }
  const ScopedVariable processor("ASHLAR_PROCESSOR", "avx2/32K/64K");
  const ProcessResult result = Ashlar("run model.ash --plan baseline.plan");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("is for baseline/32K/64K"));
}

TEST_F(PlanFileTest, WhatIsNoPlanIsRejected) {
  const std::string good = Read("m.plan");
  std::string moved = good;
  const size_t at = good.find("\"offset\": ", good.find("\"chunks\""));
  ASSERT_NE(at, std::string::npos);
  moved.insert(at + 10, "6");
  const struct {
    std::string text;
    const char* message;
  } cases[] = {{moved, "it was changed after it was written"},
               {good.substr(0, good.size() / 2), "this is no JSON"},
               {"", "this is no JSON"},
               {"{}", "key 'format' is missing"},
               {"[1, 2]", "an object"},
               {"{\"format\": \"ashlar plan\", \"version\": 1}", "is missing"},
               {std::string(1000, '['), "nested deeper"}};
  for (const auto& c : cases) {
    Write("bad.plan", c.text);
    for (const char* command : {"run model.ash --plan bad.plan", "verify model.ash --plan bad.plan",
                                "plan model.ash --diff bad.plan"}) {
      SCOPED_TRACE(command);
      const ProcessResult result = Ashlar(command);
      EXPECT_EQ(result.exit_code, 6) << result.err;
      EXPECT_THAT(result.err, HasSubstr(c.message));
      EXPECT_THAT(result.err, HasSubstr("bad.plan"));
    }
  }
  EXPECT_EQ(Ashlar("run model.ash --plan none.plan").exit_code, 6);
}

// Regression: the error was only "wrong magic number".
TEST_F(PlanFileTest, APlanInAModelsPlaceIsNamed) {
  Write("named.txt", Read("m.plan"));
  Write("broken.plan", "{");
  for (const char* command : {"run", "plan", "inspect", "convert -o x.ash", "compare model.ash"}) {
    for (const char* file : {"m.plan", "named.txt", "broken.plan"}) {
      ExpectEndings(absl::StrCat(command, " "),
                    {{file, 6, absl::StrCat(file, ": a plan, and no model: give the model")}});
    }
  }
  EXPECT_THAT(Ashlar("run none.plan").err, ::testing::Not(HasSubstr("a plan, and no model")));
}

TEST_F(PlanFileTest, TwoPlansStandSideBySide) {
  const ProcessResult text = Ashlar("plan model.ash --threads 1 --diff m.plan");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* row : {"model.ash", "m.plan", "arena", "lower bound", "weights", "proof",
                          "steps", "predicted", "at the peak of m.plan"}) {
    EXPECT_THAT(text.out, HasSubstr(row));
  }
  const ProcessResult diff = Ashlar("plan model.ash --threads 1 --diff m.plan --json");
  ASSERT_EQ(diff.exit_code, 0) << diff.err;
  const json document = diff.Json();
  const int64_t whole = Ashlar("plan model.ash --threads 1 --json")
                            .Json()["pools"]["arena"]["planned_bytes"]
                            .get<int64_t>();
  EXPECT_EQ(document["plans"][0]["file"], "model.ash");
  EXPECT_EQ(document["plans"][0]["arena_bytes"], whole);
  EXPECT_EQ(document["plans"][1]["arena_bytes"], arena_);
  EXPECT_EQ(document["difference"]["arena_bytes"], arena_ - whole);
  EXPECT_FALSE(document["plans"][1]["chunks_at_peak"].empty());

  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o s.ash").exit_code, 0);
  EXPECT_EQ(Ashlar("plan model.ash --diff s.ash").exit_code, 0);
  EXPECT_EQ(Ashlar("plan m.plan --diff m.plan --json").Json()["difference"]["arena_bytes"], 0);
}

// A plan may run with packed weights, if they are the weights of its model.
TEST_F(PlanFileTest, PackedWeightsAreUsedAsThePlanSays) {
  ASSERT_EQ(Ashlar("convert model.ash --pack -o packed.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("plan packed.ash --threads 1 -o packed.plan").exit_code, 0);
  const ProcessResult run = Ashlar("run packed.ash --plan packed.plan -o a.npz");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "") << "nothing is packed anew";
  EXPECT_EQ(Ashlar("run model.ash --plan packed.plan -o b.npz").exit_code, 0);
  EXPECT_TRUE(Read("a.npz") == Read("b.npz"));
}

}  // namespace
}  // namespace ashlar::testing
