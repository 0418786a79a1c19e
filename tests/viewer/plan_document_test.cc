// The document of a plan, and the page that holds it.
#include "viewer/plan_document.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>

#include "memory/problem/lower_bound.h"
#include "tests/support/status.h"
#include "viewer/plan_page.h"

namespace ashlar::testing {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns three buffers; the last one takes over the first one's bytes.
ViewedPlan SmallPlan() {
  memory::Problem problem;
  problem.buffers = {{1, 0, 3, 64, 64}, {2, 1, 4, 32, 32}, {3, 2, 5, 64, 64}};
  problem.inside = {{2, 0, 0}};
  return ViewOf(problem, Value(memory::PlanMemory(problem)), {"a", "b", "c"}, "small");
}

// Returns the text between the page's script tags, which contains the plans.
std::string EmbeddedText(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"plans\">";
  const size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(PlanDocumentTest, HasTheNumbersOfThePlan) {
  const ViewedPlan plan = SmallPlan();
  const Json document = PlanDocument(plan);
  EXPECT_EQ(document["arena_bytes"], 96);
  EXPECT_EQ(document["lower_bound_bytes"], 96);
  EXPECT_EQ(document["proven_bytes"], 96);
  EXPECT_EQ(document["proof"], "optimal");
  EXPECT_EQ(document["title"], "small");
  const Json& buffers = document["buffers"];
  EXPECT_THAT(buffers["name"], ElementsAre("a", "b", "c"));
  EXPECT_THAT(buffers["first_step"], ElementsAre(0, 1, 2));
  EXPECT_THAT(buffers["end_step"], ElementsAre(3, 4, 5));
  EXPECT_THAT(buffers["size_bytes"], ElementsAre(64, 32, 64));
  EXPECT_THAT(buffers["alignment_bytes"], ElementsAre(64, 32, 64));
  EXPECT_THAT(buffers["kind"], ElementsAre(0, 0, 0));
  EXPECT_EQ(buffers["offset_bytes"].get<std::vector<int64_t>>(), plan.offsets);
  EXPECT_EQ(buffers["offset_bytes"][0], buffers["offset_bytes"][2]);
  EXPECT_EQ(document["relations"], (Json{{"inner", {2}}, {"outer", {0}}, {"at_bytes", {0}}}));
  EXPECT_EQ(document["steps"]["name"], Json::array());
}

TEST(PlanDocumentTest, StepsAreColumns) {
  ViewedPlan plan = SmallPlan();
  plan.tile = "0-4:rows2";
  plan.steps = {{"conv/0", "Conv", "panel", 128, 0.5}, {"/net/1", "Relu", "", 0}};
  plan.kinds = {ChunkKind::kTensor, ChunkKind::kWorkspace, ChunkKind::kCopy};
  plan.reads = {{0, 1}};
  plan.views = {{1, "half", 16, 16}};
  Json document = PlanDocument(plan);
  EXPECT_EQ(document["steps"], (Json{{"name", {"conv/0", "/net/1"}},
                                     {"type", {"Conv", "Relu"}},
                                     {"kernel", {"panel", ""}},
                                     {"workspace_bytes", {128, 0}},
                                     {"part", {"0", "1"}},
                                     {"ms", {0.5, nullptr}}}));
  EXPECT_THAT(document["kinds"], ElementsAre("tensor", "workspace", "copy"));
  EXPECT_THAT(document["buffers"]["kind"], ElementsAre(0, 1, 2));
  EXPECT_EQ(document["reads"], (Json{{"buffer", {0}}, {"step", {1}}}));
  EXPECT_EQ(document["views"],
            (Json{{"buffer", {1}}, {"name", {"half"}}, {"at_bytes", {16}}, {"size_bytes", {16}}}));
  // Names of ONNX models look like slices of tiles.
  plan.tile.clear();
  document = PlanDocument(plan);
  EXPECT_THAT(document["steps"]["part"], ElementsAre("", ""));
}

TEST(PlanDocumentTest, PartsAreReadFromNames) {
  const std::pair<const char*, const char*> cases[] = {{"conv1/3", "3"},
                                                       {"conv1/3:halo", "3"},
                                                       {"conv1/3,1", "3,1"},
                                                       {"conv1/12/0:joined", "12/0"},
                                                       {"conv1", ""},
                                                       {"net/conv1", ""},
                                                       {"", ""},
                                                       {"7", ""},
                                                       {"/", ""},
                                                       {"a/", ""},
                                                       {"a//3", "3"},
                                                       {"a/b3", ""},
                                                       {"layer/0/conv", ""}};
  for (const auto& [name, part] : cases) EXPECT_EQ(PartOf(name), part) << name;
}

TEST(PlanPageTest, HoldsTheDocumentsAndEndsNoScriptEarly) {
  ViewedPlan plan = SmallPlan();
  plan.title = "</title><script>alert(1)</script>";
  plan.names = {"</script><img src=x onerror=alert(1)>", "<!--<script>",
                "\xff\xe2\x80\xa8 @PLANS@ \"'&"};
  const std::string page = PlanPage({plan, SmallPlan()});
  const std::string text = EmbeddedText(page);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  const Json documents = Json::parse(text);
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents[1], PlanDocument(SmallPlan()));
  EXPECT_EQ(documents[0]["title"], plan.title);
  EXPECT_EQ(documents[0]["buffers"]["name"][0], plan.names[0]);
  EXPECT_EQ(documents[0]["buffers"]["name"][1], plan.names[1]);
  // Invalid UTF-8 is replaced.
  EXPECT_EQ(documents[0]["buffers"]["name"][2], "\xef\xbf\xbd\xe2\x80\xa8 @PLANS@ \"'&");
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
}

// One file contains everything.
TEST(PlanPageTest, NamesNothingOutsideOfItself) {
  std::string page = PlanPage({SmallPlan()});
  EXPECT_LT(page.size(), 100'000u);
  // The name of SVG's format is an address that is never requested.
  const std::string svg = "http://www.w3.org/2000/svg";
  page.erase(page.find(svg), svg.size());
  for (const char* word : {"http:", "https:", "src=", "@import", "import(", "fetch(", "innerHTML",
                           "insertAdjacentHTML", "eval(", "@STYLE@", "@SCRIPT@", "@PLANS@"}) {
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace ashlar::testing
