// Budgets: the commands of five user reports, in their order, with the old results in comments.
// Plans are for a named processor, so that the figures hold on every machine.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"
#include "tests/support/environment.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class BudgetTest : public CommandTest {
 protected:
  void Zoo(const std::string& model, const std::string& file) {
    ASSERT_EQ(Ashlar(absl::StrCat("zoo ", model, " -o ", file, " -q")).exit_code, 0);
  }
  ProcessResult Plan(const std::string& options) {
    return Ashlar(absl::StrCat("plan --threads 1 --processor avx512/32K/1M --json ", options));
  }
  static int64_t ArenaOf(const json& document) {
    return document["pools"]["arena"]["planned_bytes"].get<int64_t>();
  }
  // Returns the arena of a plan that fits, in bytes.
  int64_t Arena(const std::string& options) {
    const ProcessResult result = Plan(options);
    EXPECT_EQ(result.exit_code, 0) << options << ": " << result.err;
    return result.exit_code == 0 ? ArenaOf(result.Json()) : -1;
  }
};

// Regression: 442368 bytes by default, although `exact` proved 368640 in milliseconds; and 400000
// did not fit.
TEST_F(BudgetTest, TheDefaultPlannerFitsWhatExactProvesToFit) {
  if (kSanitized) GTEST_SKIP() << "about bytes alone";
  Zoo("inception_v1 --image 97", "i97.ash");
  // Without rolling lines both found 274176; without columns in strips 252928. The planner decides
  // which tilings look smallest, so the two may differ.
  EXPECT_EQ(Arena("i97.ash --memory-budget min"), 209024);
  EXPECT_LE(Arena("i97.ash --memory-budget 400000"), 400000);
  if (!LongTests()) return;
  EXPECT_EQ(Arena("i97.ash --memory-budget min --planner exact"), 238592);
  EXPECT_LE(Arena("i97.ash --memory-budget 400000 --planner exact"), 400000);
  // Regression: 188416 and 201216 bytes, although 163840 and 184320 were possible. Now the tile
  // search counts workspaces and tries segments between all cuts, so less suffices.
  Zoo("inception_v1 --image 64", "i64.ash");
  EXPECT_EQ(Arena("i64.ash --memory-budget min"), 115968);
  Zoo("squeezenet --image 97", "s97.ash");
  EXPECT_EQ(Arena("s97.ash --memory-budget min"), 54336);
  // Regression: 48758784, in rolling strips, which have more buffers.
  Zoo("resnet50 --image 2048 --headless", "r2048.ash");
  EXPECT_EQ(Arena("r2048.ash --memory-budget min --max-extra-flops 0"), 47710208);
}

// Regression: the report's `auto` differed from the `auto` of the table below it.
TEST_F(BudgetTest, AutoIsOnePlanner) {
  Zoo("inception_v1 --image 97", "i97.ash");
  const ProcessResult result =
      Plan("i97.ash --prefer memory --tile '0-14:rows4;21-43:lines24' --compare auto");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  EXPECT_EQ(document["compare"][0]["arena_bytes"], ArenaOf(document));
  EXPECT_EQ(Arena("i97.ash --prefer memory --tile '0-14:rows4;21-43:lines24' --planner auto"),
            ArenaOf(document));
}

// Regression: ten seconds found only the default's result.
TEST_F(BudgetTest, PlanTimeHasAnEffectInParts) {
  if (kSanitized) GTEST_SKIP() << "about bytes alone";
  Zoo("resnet18", "r18.ash");
  const std::string tiles = "r18.ash --tile 0-216:lines112 --prefer memory";
  const int64_t usual = Arena(tiles);
  EXPECT_LT(usual, Arena(tiles + " --plan-time 20ms"));
  // Regression: `min` gave 659456, and twice the time gave less.
  EXPECT_LE(usual, 645120);
  if (LongTests()) {
    EXPECT_LE(Arena("r18.ash --memory-budget min"), usual);
  }
}

// Regression: the budget fitted or not by chance, as tiles were chosen by times measured while
// planning.
TEST_F(BudgetTest, TheSameCommandDecidesTheSame) {
  if (kSanitized) GTEST_SKIP() << "about bytes alone";
  Zoo(LongTests() ? "mobilenet_v2 --batch 4 --image 64" : "squeezenet --batch 2 --image 64",
      "m.ash");
  const int64_t least = Arena(absl::StrCat("m.ash --memory-budget min", kQuick));
  const ProcessResult first = Plan(absl::StrCat("m.ash --memory-budget ", least - 1, kQuick));
  EXPECT_EQ(first.exit_code, 3);
  EXPECT_THAT(first.err, HasSubstr(absl::StrCat(least)));
  for (int i = 0; i < (LongTests() ? 2 : 1); ++i) {
    const std::string near = absl::StrCat("m.ash --memory-budget ", least + 1000, kQuick);
    json once = Plan(near).Json();
    json again = Plan(near).Json();
    for (json* document : {&once, &again}) {
      document->erase("plan_ms");
      document->erase("memory_plan_ms");
    }
    EXPECT_EQ(once, again);
  }
}

// Regression: one command gave 188416 or 196608 bytes, with different tiles, so that results
// differed in their last bits.
TEST_F(BudgetTest, OneAnswerInEveryProcess) {
  if (kSanitized) GTEST_SKIP() << "about bytes alone";
  Zoo(LongTests() ? "inception_v1 --image 64" : "squeezenet --image 64", "i64.ash");
  json answers[2];
  for (const char* budget : {"min", "230280", "196608"}) {
    if (!LongTests() && budget != std::string("min")) continue;
    for (json& answer : answers) {
      answer = Plan(absl::StrCat("i64.ash --memory-budget ", budget)).Json();
      answer.erase("plan_ms");
      answer.erase("memory_plan_ms");
    }
    EXPECT_EQ(answers[0], answers[1]) << budget;
    if (!LongTests()) continue;
    EXPECT_GE(ArenaOf(answers[0]), 115968) << budget;
    if (budget == std::string("min")) {
      EXPECT_EQ(ArenaOf(answers[0]), 115968);
    }
  }
  Zoo(LongTests() ? "resnet18 --image 64 --batch 3" : "squeezenet --image 64 --batch 3", "b3.ash");
  for (const char* file : {"a.npz", "b.npz"}) {
    const ProcessResult run =
        Ashlar(absl::StrCat("run b3.ash --memory-budget min --threads 2 -q -o ", file, kQuick));
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  EXPECT_TRUE(Read("a.npz") == Read("b.npz"));
}

// Regression: `min` was above the result for another processor, which is given here as tiles. On
// the second processor these were the tiles with the smallest estimate, planned with too little
// work to reach it.
TEST_F(BudgetTest, TilesOfOtherOriginAreNotSmaller) {
  if (!LongTests()) GTEST_SKIP() << kTakesLong;
  Zoo("mobilenet_v2", "m.ash");
  for (const char* processor : {"avx2/32K/512K", "avx512/48K/2M"}) {
    const auto on = [&](const char* options) {
      const ProcessResult result = Ashlar(absl::StrCat(
          "plan m.ash --threads 1 --prefer memory --json --processor ", processor, options));
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return ArenaOf(result.Json());
    };
    EXPECT_LE(
        on(" --memory-budget min"),
        on(" --tile '0-188:lines112;188-237:lines7;237-339:lines7;339-388:rows2;388-490:rows2;"
           "490-541:rows2;541-641:lines14;641-692:rows2'"))
        << processor;
  }
}

// Regression: min gave 201216, 201215 a plan of 188928, and 188928 none.
TEST_F(BudgetTest, TheSmallestThatWouldDoIsTheSmallest) {
  if (kSanitized) GTEST_SKIP() << "about bytes alone";
  Zoo("squeezenet --image 97", "s97.ash");
  const int64_t least = Arena(absl::StrCat("s97.ash --memory-budget min", kQuick));
  for (const int64_t budget : {int64_t{201215}, int64_t{188928}, least}) {
    const ProcessResult result = Plan(absl::StrCat("s97.ash --memory-budget ", budget, kQuick));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_LE(ArenaOf(result.Json()), budget);
    EXPECT_GE(ArenaOf(result.Json()), least);
  }
  const ProcessResult below = Plan(absl::StrCat("s97.ash --memory-budget ", least - 1, kQuick));
  EXPECT_EQ(below.exit_code, 3);
  EXPECT_THAT(below.err, HasSubstr(absl::StrCat(least)));
  EXPECT_GE(Arena(absl::StrCat("s97.ash --memory-budget min --prefer memory", kQuick)), least);
  // The frontier is measured, so on this machine.
  const json min = Ashlar("plan --threads 1 --json s97.ash --memory-budget min").Json();
  const ProcessResult frontier = Ashlar("plan --threads 1 --json s97.ash --frontier");
  ASSERT_EQ(frontier.exit_code, 0) << frontier.err;
  const json document = frontier.Json();
  ASSERT_FALSE(document["frontier"].empty());
  for (const json& point : document["frontier"]) {
    EXPECT_GE(point["arena_bytes"].get<int64_t>(), ArenaOf(min));
  }
}

// Regression: 60 MB chose the untiled plan, which was slower than one of 8.8 MB.
TEST_F(BudgetTest, MoreMemoryIsNeverSlower) {
  if (kSanitized) GTEST_SKIP() << "about bytes alone";
  Zoo(LongTests() ? "resnet18 --batch 2 --image 96" : "resnet18 --batch 2 --image 64", "r18.ash");
  double slower = 0;
  using Budgets = std::vector<std::string>;
  for (const std::string& budget :
       LongTests() ? Budgets{"12MB", "4MB", "800kB", "600kB", "400kB", "300kB", "min"}
                   : Budgets{"12MB", "800kB", "400kB", "150kB"}) {
    const ProcessResult result = Plan(absl::StrCat("r18.ash --memory-budget ", budget, kQuick));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const double ms = result.Json()["predicted_ms"].get<double>();
    EXPECT_GE(ms, slower) << budget;
    slower = ms;
  }
}

}  // namespace
}  // namespace ashlar::testing
