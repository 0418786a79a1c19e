// Tiles on the models of the zoo: their results and their memory.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "memory/problem/work.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "tests/support/command/command_process.h"
#include "tests/support/environment.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"
#include "tools/format.h"
#include "tools/zoo/zoo.h"

namespace ashlar {
namespace {

using ::testing::HasSubstr;
using testing::kQuick;
using testing::RelativeError;
using testing::Value;

Graph Build(const std::string& name, const ZooOptions& options) {
  for (const ZooModel& model : ZooModels()) {
    if (name == model.name) return Value(model.build(options));
  }
  ADD_FAILURE() << "no model " << name;
  return Graph();
}

class TilingTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

HostTensor FirstOutput(std::unique_ptr<PlannedGraph> planned, const HostTensor& input) {
  auto executable = Value(Executable::FromPlan(std::move(planned)));
  auto session = Value(Session::Create(executable));
  const std::vector<HostTensor> outputs =
      Value(BindTensors(*session, {{executable->graph().inputs()[0].name, input}}));
  EXPECT_TRUE(session->Run().ok());
  return outputs[0];
}

// In about half of the untiled memory; two models also in their smallest plan, whose search takes
// long.
TEST_F(TilingTest, EveryModelComputesTheSameInLessMemory) {
  const struct {
    const char* name;
    int64_t image;
    bool headless;
  } cases[] = {{"resnet18", 64, false},     {"resnet50", 64, false},   {"vgg19", 64, true},
               {"mobilenet_v2", 64, false}, {"squeezenet", 64, false}, {"inception_v1", 64, false},
               {"tiling_chain", 16, false}};
  for (const auto& c : cases) {
    const bool of_blocks = std::string(c.name) == "mobilenet_v2" || c.image == 16;
    if ((testing::kSanitized || !testing::LongTests()) && !of_blocks) continue;
    SCOPED_TRACE(c.name);
    const Graph graph = Build(c.name, {.batch = 2, .image = c.image, .headless = c.headless});
    std::mt19937_64 random(1);
    const HostTensor input =
        testing::RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
    PlanRequest options;
    if (!testing::LongTests()) {
      options.planning.planner.limits.work = 20 * memory::kWorkPerMillisecond;
    }
    std::unique_ptr<PlannedGraph> whole = Value(PlanGraph(graph, options));
    const int64_t arena = whole->plan.plan.arena;
    const HostTensor expected = FirstOutput(std::move(whole), input);
    for (const int64_t budget : {int64_t{0}, arena / 2}) {
      if (budget == 0 && !of_blocks) continue;
      options.target.budget = MemoryBudget{budget};
      absl::StatusOr<std::unique_ptr<PlannedGraph>> tiled = PlanGraph(graph, options);
      ASSERT_TRUE(tiled.ok()) << tiled.status();
      EXPECT_LE((*tiled)->plan.plan.arena, arena / 2);
      const std::string tiles = (*tiled)->tiles.ToString();
      EXPECT_LE(RelativeError(FirstOutput(*std::move(tiled), input), expected), 1e-4) << tiles;
    }
  }
}

struct Promise {
  const char* model;
  ZooOptions options;
  int64_t bytes;
  const char* tiles;  // "": search for tiles
};

// Budgets that are met without recomputation. Untiled plans take 52.2 and 536.9 MB.
TEST_F(TilingTest, BudgetsAreMetWithoutMoreWork) {
  const Promise promises[] = {
      {"resnet50", {.batch = 10}, 2'500'000, ""},
      {"vgg19", {.image = 1024, .headless = true}, 35'000'000, "0-191:lines64"},
  };
  for (const Promise& promise : promises) {
    SCOPED_TRACE(::testing::Message() << promise.model << " in " << promise.bytes);
    PlanRequest options;
    options.target.processor = Value(Processor::Parse("avx2/32K/512K"));
    options.target.tiles = Value(TileSpec::Parse(promise.tiles));
    if (options.target.tiles.empty()) {
      options.target.budget = MemoryBudget{promise.bytes, /*max_extra_flops=*/0};
    }
    const auto planned = PlanGraph(Build(promise.model, promise.options), options);
    ASSERT_TRUE(planned.ok()) << planned.status();
    EXPECT_LE((*planned)->plan.plan.arena, promise.bytes);
    EXPECT_LE((*planned)->extra_flops_ratio, 0);
    RecordProperty(std::string(promise.model) + std::to_string(promise.bytes),
                   std::to_string((*planned)->plan.plan.arena));
  }
}

class BudgetCommandTest : public testing::CommandTest {};

// Returns the arguments of a list, each quoted, after blanks.
std::string TextOf(const nlohmann::json& arguments) {
  std::string text;
  for (const nlohmann::json& argument : arguments) {
    absl::StrAppend(&text, " '", argument.get<std::string>(), "'");
  }
  return text;
}

TEST_F(BudgetCommandTest, ABudgetIsMetOrRefusedWithTheSmallestThatWouldDo) {
  if (testing::kSanitized) GTEST_SKIP() << "about bytes alone";
  const auto whole = Ashlar("plan model.ash --json --quiet").Json();
  const int64_t arena = whole["pools"]["arena"]["planned_bytes"];
  const auto least =
      Ashlar(absl::StrCat("plan model.ash --memory-budget min --json --quiet", kQuick));
  ASSERT_EQ(least.exit_code, 0) << least.err;
  const int64_t smallest = least.Json()["pools"]["arena"]["planned_bytes"];
  EXPECT_LT(smallest, arena);

  const std::string fits = std::to_string(smallest), misses = std::to_string(smallest / 2);
  const auto met = Ashlar("plan model.ash --json --quiet --memory-budget " + fits + kQuick);
  ASSERT_EQ(met.exit_code, 0) << met.err;
  EXPECT_TRUE(met.Json()["fits"]);
  EXPECT_EQ(met.Json()["budget_bytes"], smallest);
  EXPECT_LE(met.Json()["pools"]["arena"]["planned_bytes"], smallest);
  // The search for the smallest plan takes longer than planning. Regression: it ran without a
  // request.
  EXPECT_EQ(least.Json()["smallest_budget_bytes"], smallest);
  const auto roomy = Ashlar(absl::StrCat("plan model.ash --json --memory-budget ", arena, kQuick));
  EXPECT_FALSE(roomy.Json().contains("smallest_budget_bytes"));

  // Regression: the text did not state the time by which tiles are chosen.
  EXPECT_THAT(Ashlar(absl::StrCat("plan model.ash --memory-budget ", fits, kQuick)).out,
              HasSubstr(absl::StrCat(" extra FLOPs, ",
                                     FormatMilliseconds(met.Json()["predicted_ms"].get<double>()),
                                     " expected; the options that repeat this plan:\n--tile ")));

  // Guard bytes, with which `verify` runs a second time, are not included.
  const auto verified = Ashlar("verify model.ash --json --quiet --memory-budget " + fits + kQuick);
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_LE(verified.Json()["pools"]["arena"]["actual_bytes"], smallest);

  const auto refused = Ashlar("plan model.ash --json --quiet --memory-budget " + misses + kQuick);
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_FALSE(refused.Json()["fits"]);
  EXPECT_EQ(refused.Json()["smallest_budget_bytes"], smallest);
  EXPECT_THAT(refused.err, HasSubstr("the smallest that was found takes " + fits));
  for (const char* command : {"run", "bench", "verify"}) {
    if (testing::kSanitized && command != std::string("run")) continue;
    const auto result =
        Ashlar(std::string(command) + " model.ash --quiet --memory-budget " + misses + kQuick);
    EXPECT_EQ(result.exit_code, 3) << command;
    EXPECT_THAT(result.err, HasSubstr("the smallest that was found takes " + fits)) << command;
  }
}

TEST_F(BudgetCommandTest, ATiledPlanIsProvedAndComputesTheSame) {
  for (const char* option : {"--memory-budget min --max-extra-flops 0", "--memory-budget min"}) {
    if (testing::kSanitized && option == std::string("--memory-budget min")) continue;
    const auto plan = Ashlar(std::string("plan model.ash --json --quiet ") + option + kQuick);
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    const std::string tiles = plan.Json()["tile"];
    EXPECT_FALSE(tiles.empty());
    const std::string prefer = plan.Json()["prefer"];
    const std::string same = " --tile '" + tiles + "' --prefer " + prefer + kQuick;
    const auto again = Ashlar("plan model.ash --json --quiet" + same);
    EXPECT_EQ(again.Json()["pools"]["arena"], plan.Json()["pools"]["arena"]);
    const auto verify = Ashlar("verify model.ash --json --quiet" + same);
    ASSERT_EQ(verify.exit_code, 0) << verify.err;
    EXPECT_TRUE(verify.Json()["ok"]);
    EXPECT_EQ(verify.Json()["heap"]["own_calls"], 0);
    ASSERT_EQ(Ashlar("run model.ash --quiet --output whole.npz").exit_code, 0);
    EXPECT_EQ(Ashlar("compare model.ash --quiet --ref whole.npz" + same).exit_code, 0);
  }
}

// Regression: without folded constants, operators of the segment compute the target of the
// classifier's reshape. They have no tiles, which ended in a segmentation fault.
TEST_F(BudgetCommandTest, ASegmentMayComputeShapes) {
  ASSERT_EQ(Ashlar("zoo resnet18 --batch 2 --image 32 -o shapes.ash --quiet").exit_code, 0);
  for (const char* option : {"--tile 0-369:batch2", "--tile 0-378:batch2", "--tile 0-380:batch2"}) {
    const auto result = Ashlar(std::string("compare shapes.ash --quiet --passes none --tile-b ") +
                               (option + 7) + " --passes-b none");
    EXPECT_EQ(result.exit_code, 0) << option << ": " << result.err;
  }
  EXPECT_EQ(Ashlar(absl::StrCat("plan shapes.ash --quiet --passes none --memory-budget 1", kQuick))
                .exit_code,
            3);
}

// Regression: `--passes` was followed by a comma, and the JSON and the frontier left it out, so
// `--tile` alone made another plan.
TEST_F(BudgetCommandTest, TheOptionsThatRepeatAPlanCanBePasted) {
  if (testing::kSanitized) GTEST_SKIP() << "about options alone";
  ASSERT_EQ(Ashlar("zoo mobilenet_v2 --image 32 -o padded.ash --quiet").exit_code, 0);
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o s.ash --quiet").exit_code, 0);
  const std::string target = " --threads 1 --processor avx512/32K/1M ";
  const std::string plan = absl::StrCat("plan", kQuick, target);
  const struct {
    const char* model;
    const char* options;
    const char* repeat;  // a part of the options that repeat it
  } cases[] = {{"padded.ash", " --memory-budget min", "--tile"},
               {"padded.ash", " --memory-budget 1GB", "--tile"},
               {"padded.ash", " --total-budget 1GB", "--tile"},
               {"s.ash", " --tile none", "'none'"},
               {"s.ash", " --tile 0-19:lines13", "'0-19:lines13'"},
               {"s.ash", " --memory-budget min", "--tile"},
               {"s.ash", " --memory-budget 300000 --prefer memory", "'--prefer' 'memory'"},
               {"s.ash", " --memory-budget 300000 --precision fp16 --release-input",
                "'--precision' 'Float16' '--release-input'"},
               {"s.ash", " --memory-budget min --passes fold_constants,fuse",
                "'--passes' 'fold_constants,fuse'"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.model, c.options));
    const std::string model = plan + c.model;
    const auto made = Ashlar(model + c.options + " --json");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const nlohmann::json document = made.Json();
    EXPECT_THAT(TextOf(document["repeat"]), HasSubstr(c.repeat));
    const auto expect_same = [&](const std::string& options) {
      // The work for its addresses is one of them.
      const auto again = Ashlar(absl::StrCat("plan", target, c.model, " ", options, " --json"));
      ASSERT_EQ(again.exit_code, 0) << options << ": " << again.err;
      EXPECT_EQ(again.Json()["tile"], document["tile"]);
      EXPECT_EQ(again.Json()["comp_seq"], document["comp_seq"]);
      EXPECT_EQ(again.Json()["repeat"], document["repeat"]);
      // A chosen plan is searched more thoroughly than a candidate.
      EXPECT_LE(again.Json()["arena_bytes"], document["arena_bytes"]);
      if (document["proof"] != "none") {
        EXPECT_EQ(again.Json()["arena_bytes"], document["arena_bytes"]);
      }
    };
    expect_same(TextOf(document["repeat"]));
    const std::string text = Ashlar(model + c.options).out;
    const size_t line = text.find("\n--tile ");
    EXPECT_EQ(line == std::string::npos, c.options == std::string(" --tile none"));
    if (line == std::string::npos) continue;
    expect_same(text.substr(line + 1, text.find('\n', line + 1) - line - 1));
  }
}

TEST_F(BudgetCommandTest, BadBudgetsAreUsageErrors) {
  for (const char* options :
       {"--memory-budget 0", "--memory-budget -5", "--memory-budget lots", "--tile nonsense",
        "--memory-budget 1MB --tile 0-1:rows2", "--max-extra-flops 0.1",
        "--memory-budget 1MB --max-extra-flops -1", "--frontier --memory-budget 1MB"}) {
    const auto result = Ashlar(std::string("plan model.ash ") + options);
    EXPECT_EQ(result.exit_code, 2) << options << ": " << result.err;
  }
}

TEST_F(BudgetCommandTest, TheFrontierIsACurveOfPlansThatRun) {
  const auto result =
      Ashlar(absl::StrCat("plan model.ash --frontier --json --quiet -o frontier.svg", kQuick));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json points = result.Json()["frontier"];
  ASSERT_GE(points.size(), 2u);
  for (size_t i = 0; i < points.size(); ++i) {
    if (i > 0) {
      EXPECT_LT(points[i]["arena_bytes"], points[i - 1]["arena_bytes"]);
    }
    EXPECT_GT(points[i]["predicted_ms"], 0);
    EXPECT_GT(points[i]["measured_ms"], 0);
    const std::string same = TextOf(points[i]["repeat"]);
    const auto plan = Ashlar("plan model.ash --json --quiet" + same);
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    EXPECT_EQ(plan.Json()["pools"]["arena"]["planned_bytes"], points[i]["arena_bytes"]);
    EXPECT_EQ(plan.Json()["tile"], points[i]["tile"]);
    const auto verify = Ashlar("verify model.ash --json --quiet" + same);
    ASSERT_EQ(verify.exit_code, 0) << verify.err;
    EXPECT_LE(verify.Json()["pools"]["arena"]["actual_bytes"], points[i]["arena_bytes"]);
    EXPECT_EQ(verify.Json()["heap"]["own_calls"], 0);
  }
  EXPECT_THAT(Read("frontier.svg"), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace ashlar
