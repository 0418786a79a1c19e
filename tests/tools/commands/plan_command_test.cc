// ashlar plan: reports, pictures and buffers of models, and the planner alone on CSV files.
#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using PlanCommandTest = CommandTest;

std::string WithoutLastColumn(const std::string& csv) {
  std::string result;
  for (absl::string_view line : absl::StrSplit(csv, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&result, line.substr(0, line.rfind(',')), "\n");
  }
  return result;
}

TEST_F(PlanCommandTest, PlanReportsThePlan) {
  const ProcessResult result = Ashlar("plan model.ash --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  ExpectPools(document["pools"], {"planned_bytes"});
  const json& arena = document["arena"];
  EXPECT_EQ(arena["lower_bound_bytes"], document["pools"]["arena"]["planned_bytes"]);
  EXPECT_EQ(arena["proof"], "optimal");
  for (const char* key : {"bottleneck_step", "workspace_at_peak_bytes", "copies_at_peak_bytes"}) {
    EXPECT_TRUE(arena[key].is_number_integer()) << key;
  }
  EXPECT_TRUE(arena["bottleneck_operator"].is_string());
  EXPECT_EQ(document["extra_flops_ratio"], 0.0);
  EXPECT_TRUE(document.contains("predicted_ms"));
  EXPECT_GT(document["plan_ms"].get<double>(), document["memory_plan_ms"].get<double>());
  EXPECT_GT(document["memory_plan_ms"].get<double>(), 0);
  EXPECT_EQ(document["pools"]["input"]["planned_bytes"], 2 * 3 * 16 * 16 * 4);
  EXPECT_EQ(document["pools"]["output"]["planned_bytes"], 2 * 10 * 4);
  ASSERT_FALSE(document["passes"].empty());
  for (const json& pass : document["passes"]) {
    for (const char* key :
         {"operators_before", "operators_after", "arena_bytes_before", "arena_bytes_after"}) {
      EXPECT_TRUE(pass[key].is_number_integer()) << key;
    }
  }
  EXPECT_THAT(document["comp_seq"].get<std::vector<std::string>>(),
              ::testing::IsSupersetOf({"conv1", "conv2", "fc"}));
}

TEST_F(PlanCommandTest, PassesAndInPlaceSaveMemory) {
  const auto arena = [](const std::string& options) {
    const ProcessResult result = Ashlar("plan model.ash --json " + options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.Json()["pools"]["arena"]["planned_bytes"].get<int64_t>();
  };
  EXPECT_LT(arena(""), arena("--passes none --inplace off"));
  EXPECT_LT(arena(""), arena("--planner naive"));
  EXPECT_LE(arena(""), arena("--scheduler megengine"));
}

TEST_F(PlanCommandTest, PlanOfAModelIsAPictureOrBuffers) {
  EXPECT_EQ(Ashlar("plan model.ash -o plan.svg").exit_code, 0);
  EXPECT_THAT(Read("plan.svg"), HasSubstr("<svg"));
  EXPECT_EQ(Ashlar("plan model.ash -o plan.html").exit_code, 0);
  EXPECT_THAT(Ashlar("plan model.ash -o -").out, HasSubstr("arena 32768 bytes, lower bound"));
  EXPECT_THAT(Read("plan.html"), StartsWith("<!DOCTYPE html>"));
  const ProcessResult csv = Ashlar("plan model.ash --format csv");
  EXPECT_EQ(Ashlar("plan model.ash --format csv -o -").out, csv.out);
}

// Regression: lifetimes of buffers that a view or an overwrite took over were cut at its start,
// without the relation between them. A plan of such a file was no plan of the model.
TEST_F(PlanCommandTest, BuffersOfAModelCanBePlannedAgain) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o squeezenet.ash").exit_code, 0);
  for (const char* options : {"model.ash", "model.ash --passes none", "model.ash --inplace off",
                              "squeezenet.ash --threads 1 --processor avx2/32K/512K "
                              "--memory-budget min --plan-time 20ms"}) {
    SCOPED_TRACE(options);
    const json model = Ashlar(absl::StrCat("plan ", options, " --json")).Json();
    const ProcessResult csv = Ashlar(absl::StrCat("plan ", options, " --format csv"));
    ASSERT_EQ(csv.exit_code, 0) << csv.err;
    EXPECT_THAT(csv.out, StartsWith("id,name,lower,upper,size,alignment,group,inside,at,offset\n"));
    // With the offsets, which are then prescribed, and without them: then less may be found, as the
    // plan had little time.
    Write("buffers.csv", csv.out);
    for (const char* source : {"plan buffers.csv --json", "plan - --json < problem.csv"}) {
      Write("problem.csv", WithoutLastColumn(csv.out));
      const ProcessResult again = Ashlar(source);
      ASSERT_EQ(again.exit_code, 0) << again.err;
      const int64_t arena = again.Json()["arena_bytes"];
      const int64_t planned = model["pools"]["arena"]["planned_bytes"];
      const bool free = std::string(source).starts_with("plan -");
      EXPECT_TRUE(free ? arena <= planned : arena == planned) << source << ": " << arena;
      EXPECT_EQ(again.Json()["lower_bound_bytes"].get<int64_t>() <=
                    model["pools"]["arena"]["planned_bytes"].get<int64_t>(),
                true);
    }
    EXPECT_EQ(Ashlar("plan buffers.csv --format csv").out, csv.out);
  }
}

TEST_F(PlanCommandTest, PlanOfBuffers) {
  Write("buffers.csv", "id,lower,upper,size\na,0,2,10\nb,1,3,20\nc,2,4,10\n");
  const ProcessResult result = Ashlar("plan buffers.csv -o out.csv --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  EXPECT_EQ(document["buffers"], 3);
  EXPECT_EQ(document["arena_bytes"], 30);
  EXPECT_EQ(document["lower_bound_bytes"], 30);
  EXPECT_EQ(document["proof"], "optimal");
  EXPECT_TRUE(document["planner"].is_string());
  EXPECT_TRUE(document["search_ms"].is_number());
  EXPECT_TRUE(document["total_ms"].is_number());
  EXPECT_THAT(Read("out.csv"), StartsWith("id,lower,upper,size,offset\na,0,2,10,"));
  for (const char* source : {"- < buffers.csv", "BUFFERS.CSV"}) {
    Write("BUFFERS.CSV", Read("buffers.csv"));
    const ProcessResult same = Ashlar(absl::StrCat("plan --format csv ", source));
    EXPECT_EQ(same.exit_code, 0) << same.err;
    EXPECT_EQ(same.out, Read("out.csv"));
  }
}

TEST_F(PlanCommandTest, PlanThatDoesNotFitEndsInThreeWithItsDocument) {
  Write("buffers.csv", "id,lower,upper,size\na,0,2,10\nb,1,3,20\n");
  const ProcessResult result = Ashlar("plan buffers.csv --capacity 29 --json");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("30 bytes"));
  EXPECT_EQ(result.Json()["arena_bytes"], 30);
  EXPECT_THAT(result.err, HasSubstr("buffers.csv does not fit"));
  EXPECT_EQ(Ashlar("plan buffers.csv --capacity 30").exit_code, 0);
  EXPECT_EQ(Ashlar("plan model.ash --capacity 64").exit_code, 3);
}

TEST_F(PlanCommandTest, PlannersSideBySide) {
  const ProcessResult result = Ashlar("plan model.ash --compare naive,best_fit,auto --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json rows = result.Json()["compare"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["planner"], "naive");
  EXPECT_GE(rows[0]["arena_bytes"], rows[2]["arena_bytes"]);
}

TEST_F(PlanCommandTest, PlansSayWhatIsProved) {
  // At most 6 bytes are live, but no arena of 6 suffices.
  Write("buffers.csv",
        "id,lower,upper,size\na,3,6,2\nb,0,4,3\nc,3,7,1\nd,6,8,3\ne,7,9,3\nf,1,2,3\ng,5,7,2\n"
        "h,8,9,2\n");
  const ProcessResult exact = Ashlar("plan buffers.csv --compare naive,exact");
  ASSERT_EQ(exact.exit_code, 0) << exact.err;
  EXPECT_THAT(exact.out, HasSubstr("arena 7 bytes, lower bound 6 (7 by search), "
                                   "optimal (search exhausted), planner "));
  EXPECT_THAT(exact.out, HasSubstr("gap 216.67 %"));
  EXPECT_THAT(exact.out, HasSubstr("3.16667"));
  const ProcessResult naive = Ashlar("plan buffers.csv --planner naive");
  EXPECT_THAT(naive.out, HasSubstr("arena 19 bytes, lower bound 6, gap 216.67 %, planner naive"));
  EXPECT_THAT(Ashlar("plan model.ash").out, HasSubstr("optimal (meets the liveness bound)"));
  EXPECT_EQ(Ashlar("plan model.ash --plan-time 0s").exit_code, 0);
}

// A million rows would take the same path; the picture stays small.
TEST_F(PlanCommandTest, ManyBuffersAreStreamedComparedAndDrawn) {
  std::string text = "id,lower,upper,size\n";
  for (int i = 0; i < 30000; ++i) {
    text += std::to_string(i) + "," + std::to_string(i) + "," + std::to_string(i + 1 + i % 7) +
            "," + std::to_string(1 + i % 11) + "\n";
  }
  Write("many.csv", text);
  const ProcessResult result =
      Ashlar("plan many.csv --compare pushdown,interval_move,auto -o many.svg --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json rows = result.Json()["compare"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_GE(rows[0]["arena_bytes"], rows[0]["lower_bound_bytes"]);
  EXPECT_THAT(rows[1]["error"].get<std::string>(), HasSubstr("too slow for 30000 buffers"));
  EXPECT_LE(rows[2]["arena_bytes"], rows[0]["arena_bytes"]);
  EXPECT_THAT(Read("many.svg"), HasSubstr("30000 buffers"));
  EXPECT_LT(Read("many.svg").size(), 5'000'000u);
}

TEST_F(PlanCommandTest, BadBuffersAreRejectedWithTheirRow) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {{"id,lower,upper,size\na,0,2,ten\n", "ten"},
                        {"id,lower,upper,size\na,3,2,10\n", "bad.csv"},
                        {"id,lower,size\na,3,10\n", "upper"},
                        {"", "bad.csv"}};
  for (const Case& c : cases) {
    Write("bad.csv", c.text);
    const ProcessResult result = Ashlar("plan bad.csv");
    EXPECT_EQ(result.exit_code, 6) << c.text;
    EXPECT_THAT(result.err, HasSubstr(c.message));
  }
  EXPECT_EQ(Ashlar("plan bad.csv --scheduler megengine").exit_code, 2);
}

TEST_F(PlanCommandTest, WorkspacesThatNobodyRecordedAreNoZeros) {
  const ProcessResult result = Ashlar("plan model.ash --passes none --workspace recorded");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("records none"));
}

}  // namespace
}  // namespace ashlar::testing
