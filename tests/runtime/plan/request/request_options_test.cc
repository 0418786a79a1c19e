// The table of a request's options: texts, defaults, conflicts, and packed files.
#include "runtime/plan/request/request_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/plan/record/packing_options.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using ::testing::HasSubstr;

struct Row {
  const char *option, *text, *read;  // `read`: as RequestOption::get returns it
};

const Row kRows[] = {
    {"precision", "fp16", "Float16"},
    {"precision", "bf16", "BFloat16"},
    {"allow-tf32", "on", "on"},
    {"processor", "avx512_vnni/48K/2M", "avx512_vnni/48K/2M"},
    {"planner", "first_fit", "first_fit"},
    {"scheduler", "megengine", "megengine"},
    {"passes", "fuse,layout", "fuse,layout"},
    {"inplace", "off", "off"},
    {"release-input", "on", "on"},
    {"prefer", "memory", "memory"},
    {"exact", "on", "on"},
    {"extra-scratch", "1KiB", "1024"},
    {"align", "256", "256"},
    {"plan-time", "1500ms", "1.5s"},
    {"tile", "0-4:rows2;4-9:grid2x3", "0-4:rows2;4-9:grid2x3"},
    {"memory-budget", "2KiB", "2048"},
    {"memory-budget", "min", "min"},
    {"total-budget", "20MB", "20000000"},
    {"weights-budget", "3KiB", "3072"},
    {"panels", "64KiB", "65536"},
    {"channel-groups", "2KiB", "2048"},
    {"weights-speed", "20GB", "20000000000"},
    {"max-extra-flops", "0.125", "0.125"},
};

TEST(RequestOptionsTest, EveryOptionIsReadAsItIsWritten) {
  std::set<std::string> tested;
  for (const Row& row : kRows) {
    const RequestOption* const option = FindRequestOption(row.option);
    ASSERT_NE(option, nullptr) << row.option;
    tested.insert(option->name);
    PlanRequest request, again;
    if (!option->needs.empty()) request.target.budget = again.target.budget = MemoryBudget{};
    EXPECT_NE(option->get(request), row.read)
        << row.option << ": the text should not be the default";
    ASSERT_TRUE(testing::IsOk(option->set(row.text, request))) << row.option;
    EXPECT_EQ(option->get(request), row.read) << row.option;
    ASSERT_TRUE(testing::IsOk(option->set(option->get(request), again))) << row.option;
    EXPECT_EQ(option->get(again), row.read) << row.option;
  }
  for (const RequestOption& option : RequestOptions()) {
    EXPECT_TRUE(tested.contains(option.name)) << option.name << " has no row";
  }
}

TEST(RequestOptionsTest, WrongTextsAreRefusedByName) {
  const Row rows[] = {
      {"precision", "fp8", "precision: 'fp8' is not fp32, fp16 or bf16"},
      {"allow-tf32", "yes", "allow-tf32: 'yes' is not on or off"},
      {"processor", "z80", "processor: "},
      {"planner", "best", "planner: unknown planner 'best'; there are: "},
      {"scheduler", "random", "scheduler: unknown scheduler 'random'"},
      {"passes", "fats", "passes: "},
      {"prefer", "money", "prefer: 'money' is not speed or memory"},
      {"extra-scratch", "-1", "extra-scratch: '-1' is not a size"},
      {"align", "48", "align: 48 is not a power of two"},
      {"align", "0", "align: 0 is not a power of two"},
      {"plan-time", "fast", "plan-time: 'fast' is not a duration"},
      {"tile", "0-4:columns2", "tile: "},
      {"memory-budget", "0", "memory-budget: a budget of no bytes"},
      {"total-budget", "0", "total-budget: a budget of no bytes"},
      {"weights-budget", "0", "weights-budget: a budget of no bytes"},
      {"panels", "0", "panels: panels of no bytes"},
      {"memory-bugdet", "1MB", "no option 'memory-bugdet'; the nearest is memory-budget"},
  };
  for (const Row& row : rows) {
    PlanRequest request;
    const absl::Status status = SetOptions({{row.option, row.text}}, request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.option;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.read));
  }
}

TEST(RequestOptionsTest, ConflictsAreRefused) {
  const std::pair<const char*, const char*> rows[] = {
      {"tile=0-4:rows2 memory_budget=min", "memory-budget excludes tile"},
      {"memory-budget=1MB total-budget=9MB", "total-budget excludes memory-budget"},
      {"max-extra-flops=0", "max-extra-flops requires memory-budget"},
      {"weights-speed=1GB", "weights-speed requires weights-budget"},
  };
  for (const auto& [text, message] : rows) {
    PlanRequest request;
    const OptionTexts texts = testing::Value(ParseOptionTexts(text));
    EXPECT_EQ(SetOptions(texts, request).message(), message);
  }
  PlanRequest request;
  const auto quoted = [](absl::string_view name) { return absl::StrCat("'", name, "'"); };
  EXPECT_EQ(SetOptions({{"max-extra-flops", "0"}}, request, quoted).message(),
            "'max-extra-flops' requires 'memory-budget'");
  EXPECT_EQ(SetOptions({{"align", "3"}}, request, quoted).message(),
            "'align': 3 is not a power of two from 1 to 1 GiB");
  EXPECT_EQ(ParseOptionTexts("exact exact=off").status().message(), "exact is given twice");
}

// Every option that shapes a plan is repeated, the work for its addresses, too; other options of
// searches and options of the execution are not.
TEST(RequestOptionsTest, OptionsThatRepeatAPlan) {
  const char* const given =
      "align=256 allow-tf32=on channel-groups=4096 exact=on extra-scratch=4096 inplace=off "
      "panels=4096 passes=fuse plan-time=2ms "
      "planner=naive precision=Float16 prefer=memory release-input=on scheduler=megengine "
      "tile=0-4:rows2 "
      "weights-budget=4096 weights-speed=2000000000";
  PlanRequest request;
  EXPECT_TRUE(OptionsToRepeat(request).empty());
  OptionTexts texts = testing::Value(ParseOptionTexts(given));
  ASSERT_TRUE(testing::IsOk(SetOptions(texts, request)));
  EXPECT_EQ(OptionsToRepeat(request), texts);
  const OptionTexts others = {{"processor", "avx2/32K/512K"}};
  ASSERT_TRUE(testing::IsOk(SetOptions(others, request)));
  EXPECT_EQ(OptionsToRepeat(request), texts);
}

TEST(RequestOptionsTest, RatiosAreReadAsTheyAreWritten) {
  for (const double ratio : {0.0, 0.05, 1.0 / 3, 1e-300, 1e300}) {
    EXPECT_EQ(testing::Value(ParseRatio(RatioText(ratio))), ratio) << RatioText(ratio);
  }
}

TEST(RequestOptionsTest, ASwitchNeedsNoValue) {
  PlanRequest request;
  const OptionTexts texts = testing::Value(ParseOptionTexts(" exact  plan_time=1s "));
  ASSERT_TRUE(testing::IsOk(SetOptions(texts, request)));
  EXPECT_TRUE(request.planning.kernels.exact);
  EXPECT_EQ(FindRequestOption("plan-time")->get(request), "1s");
}

// The caller's options go before the file's. A budget that the file was packed for needs no search,
// and another one does.
TEST(RequestOptionsTest, PackedFilesHaveTheirOptions) {
  const char* const packed =
      "layouts 2, passes all, prefer memory, exact on, tile 0-9:rows3, budget 4096";
  const auto taken = [&](const char* given) {
    PlanRequest request;
    const OptionTexts texts = testing::Value(ParseOptionTexts(given));
    EXPECT_TRUE(testing::IsOk(SetOptions(texts, request)));
    TakePackedOptions(
        packed, [&](absl::string_view name) { return texts.contains(name); }, request);
    return PackingOptionsText(request);
  };
  EXPECT_EQ(taken(""), "layouts 2, passes all, prefer memory, exact on, tile 0-9:rows3");
  EXPECT_EQ(taken("memory-budget=4KiB"), taken(""));
  EXPECT_EQ(taken("exact=off prefer=speed"), "layouts 2, passes all, tile 0-9:rows3");
  EXPECT_EQ(taken("memory-budget=min"), "layouts 2, passes all, exact on, budget min");
  EXPECT_EQ(taken("tile=none passes=fuse"), "layouts 2, passes fuse, prefer memory, exact on");
}

}  // namespace
}  // namespace ashlar
