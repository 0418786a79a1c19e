// Plans as pages, and as documents of all buffers, on the command line.
#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class PlanPageCommandTest : public CommandTest {
 protected:
  // Returns the plans in a page.
  static json PlansIn(const std::string& file) {
    const std::string page = Read(file), begin = "id=\"plans\">";
    const size_t from = page.find(begin);
    if (from == std::string::npos) return json::array();
    const size_t to = page.find("</script>", from);
    return json::parse(page.substr(from + begin.size(), to - from - begin.size()));
  }
  static void Run(const std::string& arguments, int exit_code = 0) {
    const ProcessResult result = Ashlar(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << arguments << "\n" << result.err;
  }
};

// Regression: its page had no plan.
TEST_F(PlanPageCommandTest, TheDemosPageHoldsTheSmallPlan) {
  Run("demo --image 64 -o demo.html --json=demo.json");
  const json document = json::parse(Read("demo.json")), plans = PlansIn("demo.html");
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0]["arena_bytes"], document["plans"][1]["arena_bytes"]);
}

TEST_F(PlanPageCommandTest, APageHoldsWhatTheDocumentSays) {
  Run("plan model.ash --threads 1 -o plan.html --json=plan.json --buffers");
  const json document = json::parse(Read("plan.json")), plans = PlansIn("plan.html");
  ASSERT_EQ(plans.size(), 1u);
  const json& plan = plans[0];
  EXPECT_EQ(plan, document["plan"]);
  EXPECT_EQ(plan["title"], "model.ash");
  EXPECT_EQ(plan["arena_bytes"], document["pools"]["arena"]["planned_bytes"]);
  EXPECT_EQ(plan["weights_bytes"], document["pools"]["weights"]["planned_bytes"]);
  EXPECT_EQ(plan["lower_bound_bytes"], document["lower_bound_bytes"]);
  EXPECT_EQ(plan["bottleneck_step"], document["arena"]["bottleneck_step"]);
  EXPECT_EQ(plan["steps"]["name"], document["comp_seq"]);
  const json& chunks = document["chunks"];
  ASSERT_EQ(plan["buffers"]["name"].size(), chunks.size());
  size_t relations = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    for (const char* key : {"name", "offset_bytes", "size_bytes", "first_step", "end_step"}) {
      EXPECT_EQ(plan["buffers"][key][i], chunks[i][key]) << key << " of " << i;
    }
    relations += chunks[i]["inside"].size();
  }
  EXPECT_EQ(plan["relations"]["inner"].size(), relations);
  // Buffers are read only while they live.
  const json& reads = plan["reads"];
  EXPECT_GT(reads["step"].size(), 0u);
  for (size_t i = 0; i < reads["step"].size(); ++i) {
    const size_t buffer = reads["buffer"][i];
    EXPECT_LT(plan["buffers"]["first_step"][buffer], reads["step"][i]);
    EXPECT_GT(plan["buffers"]["end_step"][buffer], reads["step"][i]);
  }
}

TEST_F(PlanPageCommandTest, TwoPlansAreInOnePage) {
  Run("plan model.ash --threads 1 -o m.plan");
  Run("plan model.ash --threads 1 --planner naive --diff m.plan -o both.html");
  json plans = PlansIn("both.html");
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[1]["title"], "m.plan");
  EXPECT_GT(plans[0]["arena_bytes"], plans[1]["arena_bytes"]);
  EXPECT_EQ(plans[1]["steps"]["name"].size(), json::parse(Read("m.plan"))["steps"].size());
  // The page of a tiled plan also contains the untiled one.
  Run("zoo squeezenet --image 64 -o s.ash");
  Run("plan s.ash --threads 1 --processor avx2/32K/512K --memory-budget min --plan-time 20ms -o "
      "tiled.html");
  plans = PlansIn("tiled.html");
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_NE(plans[0]["tile"], "");
  EXPECT_LT(plans[0]["arena_bytes"], plans[1]["arena_bytes"]);
  EXPECT_EQ(plans[1]["tile"], "");
  EXPECT_EQ(plans[1]["title"], "s.ash, whole");
  EXPECT_THAT(plans[0]["steps"]["part"], ::testing::Contains("1"));
}

TEST_F(PlanPageCommandTest, BuffersOfAnybodyAreAPage) {
  Write("buffers.csv", "id,name,lower,upper,size\na,</script>,0,2,10\nb,x,1,3,20\n");
  Run("plan buffers.csv -o buffers.html --json=buffers.json --buffers");
  const json plans = PlansIn("buffers.html");
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(plans[0], json::parse(Read("buffers.json"))["plan"]);
  EXPECT_EQ(plans[0]["buffers"]["name"], json({"</script>", "x"}));
  EXPECT_EQ(plans[0]["steps"]["name"], json::array());
}

TEST_F(PlanPageCommandTest, BuffersAreAPartOfADocument) {
  const ProcessResult result = Ashlar("plan model.ash --buffers");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--buffers"));
  EXPECT_FALSE(Ashlar("plan model.ash --json").Json().contains("plan"));
}

}  // namespace
}  // namespace ashlar::testing
