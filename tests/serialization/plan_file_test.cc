// Options in plan files: all of the table of options that decide a plan.
#include "serialization/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "runtime/plan/request/request_options.h"
#include "serialization/crc32.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::Value;

// A plan of nothing, with these options.
StoredPlan PlanOf(const PlanRequest& request) {
  StoredPlan file;
  file.plan.target = request.target;
  file.plan.planning = request.planning;
  file.plan.alignment = request.debug.alignment;
  return file;
}

// Returns a text that is not the default: one of the names in help texts, or of these.
std::string OtherText(const RequestOption& option) {
  std::vector<std::string> texts = absl::StrSplit(option.metavar, '|');
  texts.insert(texts.end(), {"on", "off", "4096", "first_fit"});
  for (const std::string& text : texts) {
    PlanRequest request;
    if (option.set(text, request).ok() && option.get(request) != option.get(PlanRequest())) {
      return text;
    }
  }
  ADD_FAILURE() << option.name << ": add a text for it to `texts`";
  return "";
}

TEST(PlanFileTest, EveryStoredOptionComesBack) {
  const nlohmann::json defaults = nlohmann::json::parse(PlanText(PlanOf(PlanRequest())));
  for (const RequestOption& option : RequestOptions()) {
    SCOPED_TRACE(option.name);
    const std::string key = PlanKey(option);
    EXPECT_EQ(defaults["options"].contains(key),
              option.in_plan_files == InPlanFiles::kAlways || key == "tile");
    if (option.in_plan_files == InPlanFiles::kNever) continue;
    PlanRequest request;
    ASSERT_TRUE(testing::IsOk(option.set(OtherText(option), request)));
    const std::string text = PlanText(PlanOf(request));
    const StoredPlan read = Value(ParsePlan(text));
    EXPECT_EQ(option.get(read.plan.request()), option.get(request));
    EXPECT_EQ(PlanText(read), text);
    const nlohmann::json value = nlohmann::json::parse(text)["options"][key];
    EXPECT_NE(value, defaults["options"].value(key, nlohmann::json()));
    EXPECT_EQ(value.is_boolean(), option.form == ValueForm::kSwitch);
    EXPECT_EQ(value.is_number_integer(), option.form == ValueForm::kNumber);
  }
}

// Reads the options as version 1.0 wrote them.
TEST(PlanFileTest, OptionsOfOlderFilesAreRead) {
  PlanRequest request;
  request.target.precision = DType::kFloat16;
  request.target.release_input = true;
  request.target.tiles = Value(TileSpec::Parse("0-4:rows2"));
  request.planning.passes = "fuse,layout";
  request.planning.order = Order::kMegEngine;
  request.planning.inplace = false;
  request.planning.planner.planner = "first_fit";
  request.planning.planner.limits.work = 1234567;
  request.planning.kernels = {.exact = true, .low_workspace = true, .allow_tf32 = true};
  request.planning.extra_workspace = 77;
  request.debug.alignment = 256;
  const std::string now = PlanText(PlanOf(request));
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(now);
  document["options"] = nlohmann::ordered_json::parse(R"({
      "precision": "Float16", "passes": "fuse,layout", "scheduler": "megengine", "inplace": false,
      "planner": "first_fit", "planner_work": 1234567, "exact": true, "prefer": "memory",
      "allow_tf32": true, "extra_scratch_bytes": 77, "alignment": 256, "tile": "0-4:rows2",
      "rewritten_for_tiles": false, "release_input": true})");
  EXPECT_EQ(PlanText(Value(ParsePlan(document.dump()))), now);
}

TEST(PlanFileTest, WrongOptionsAreRefusedByKey) {
  const struct {
    const char* key;
    nlohmann::json value;
    const char* message;
  } rows[] = {
      {"precision", "Int8", "options.precision: 'Int8' is not fp32"},
      {"passes", "fats", "options.passes: "},
      {"scheduler", "random", "options.scheduler: unknown scheduler"},
      {"planner", "best", "options.planner: unknown planner 'best'"},
      {"prefer", "money", "options.prefer: 'money' is not speed or memory"},
      {"inplace", "on", "options.inplace: "},
      {"alignment", 48, "options.alignment: 48 is not a power of two"},
      {"alignment", -1, "options.alignment: "},
      {"extra_scratch_bytes", "1", "options.extra_scratch_bytes: "},
      {"wings", true, "options.wings: a plan has no such key here"},
  };
  for (const auto& row : rows) {
    nlohmann::json document = nlohmann::json::parse(PlanText(PlanOf(PlanRequest())));
    document["options"][row.key] = row.value;
    document.erase("checksum");
    const std::string text = document.dump();
    document["checksum"] = absl::StrFormat("crc32:%08x", Crc32(0, text.data(), text.size()));
    const absl::Status status = ParsePlan(document.dump()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.key;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace ashlar
