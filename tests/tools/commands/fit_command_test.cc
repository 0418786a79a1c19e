// ashlar fit: the ways of a model are plans that the command makes, and verdicts follow from bytes.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class FitCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ASSERT_EQ(Ashlar("zoo mobilenet_v2 --image 64 -o model.ash").exit_code, 0);
  }

  // Runs `fit` on one thread, with a document.
  ProcessResult Fit(const std::string& options) {
    return Ashlar(absl::StrCat("fit model.ash --threads 1 --json -q ", options));
  }

  static const json& Cheapest(const json& document) {
    return document["ways"][document["cheapest"].get<size_t>()];
  }

  // Checks a way against its own bytes and, unless it needs calibration data first, against the
  // plan that its command makes.
  void Check(const json& way, const json& document) {
    SCOPED_TRACE(way.dump());
    const bool has_flash = document["flash_limit_bytes"].is_number();
    const int64_t weights = way["weights_bytes"];
    const int64_t ram = way["arena_bytes"].get<int64_t>() + way["input_bytes"].get<int64_t>() +
                        way["output_bytes"].get<int64_t>() + (has_flash ? 0 : weights);
    EXPECT_EQ(way["ram_bytes"], ram);
    EXPECT_EQ(way["fits"], ram <= document["ram_limit_bytes"].get<int64_t>() &&
                               (!has_flash || weights <= document["flash_limit_bytes"]));
    std::string command = way["command"];
    if (way["numbers"] == "8 bits") {
      EXPECT_THAT(command, HasSubstr("quantize"));
      return;
    }
    const std::string run = "ashlar run ";
    if (way["streamed"]) {  // packs first
      const size_t end = command.find(" && ");
      ASSERT_NE(end, std::string::npos) << command;
      const std::string ashlar = "ashlar ";
      const std::string pack = command.substr(ashlar.size(), end - ashlar.size());
      ASSERT_EQ(Ashlar(pack).exit_code, 0);
      command = command.substr(end + 4);
    }
    ASSERT_EQ(command.substr(0, run.size()), run);
    const json plan =
        Ashlar(absl::StrCat("plan ", command.substr(run.size()), " --json -q")).Json();
    ASSERT_EQ(plan.contains("weights_window"), way["streamed"]);
    if (way["streamed"]) {
      EXPECT_EQ(plan["weights_window"]["read_bytes"], way["read_bytes"]);
      EXPECT_EQ(plan["weights_window"]["expected_ms"], way["predicted_ms"]);
    }
    EXPECT_EQ(plan["arena_bytes"], way["arena_bytes"]);
    EXPECT_EQ(plan["pools"]["weights"]["planned_bytes"], weights);
    EXPECT_EQ(plan["pools"]["input"]["planned_bytes"], way["input_bytes"]);
  }
};

TEST_F(FitCommandTest, WaysAreThePlansOfTheirCommands) {
  // Arena, input and output of the whole take more; tiles take less.
  for (const char* options : {"--ram 1GB", "--ram 200KB --flash 20MB", "--ram 8MB"}) {
    const ProcessResult result = Fit(options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json document = result.Json();
    EXPECT_TRUE(document["fits"]);
    EXPECT_TRUE(Cheapest(document)["fits"]);
    for (const json& way : document["ways"]) {
      if (!way.contains("refused")) Check(way, document);
    }
  }
}

TEST_F(FitCommandTest, TheCheapestLosesAsLittleAsPossible) {
  const struct {
    const char* options;
    const char* numbers;
    bool tiled;
  } cases[] = {
      {"--ram 1GB", "as it is", false},
      {"--ram 1GB --flash 1GB", "as it is", false},
      {"--ram 200KB --flash 20MB", "as it is", true},
      {"--ram 8MB --flash 8MB", "bf16", false},  // weights in half
      {"--ram 8MB --flash 5MB", "8 bits", false},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.options);
    const ProcessResult result = Fit(test.options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json document = result.Json();
    const json& way = Cheapest(document);
    EXPECT_EQ(way["numbers"], test.numbers);
    EXPECT_EQ(way["tile"] != "", test.tiled);
    if (std::string(test.numbers) == "bf16") {
      ASSERT_TRUE(way["loss"].is_number());
      EXPECT_GT(way["loss"], 0.0);
    }
  }
}

TEST_F(FitCommandTest, WithoutRoomEachWayTellsWhatItLacks) {
  const ProcessResult result = Ashlar("fit model.ash --threads 1 --ram 8KB --flash 1MB");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("--ram is 8000 bytes, --flash is 1000000"));
  EXPECT_THAT(result.out, HasSubstr(" of RAM, "));
  EXPECT_THAT(result.out, HasSubstr("8 bits"));
  EXPECT_THAT(result.out, HasSubstr(" of flash"));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("  yes")));
}

// Regression: it was said to fit in no way, and streamed weights may.
TEST_F(FitCommandTest, StreamedWeightsAreAWay) {
  const ProcessResult result = Fit("--ram 3MB");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  const json& way = Cheapest(document);
  EXPECT_TRUE(way["streamed"]);
  EXPECT_EQ(way["numbers"], "as it is");
  EXPECT_GT(way["read_bytes"], 3'000'000) << "the weights do not fit";
  EXPECT_GT(document["disk"]["bytes_per_second"], 0.0);
  Check(way, document);
  const std::string text = Ashlar("fit model.ash --threads 1 --ram 3MB").out;
  EXPECT_THAT(text, HasSubstr("streamed weights are read at "));
  EXPECT_THAT(text, HasSubstr(way["command"].get<std::string>()));
}

TEST_F(FitCommandTest, StreamedWeightsThatDoNotFitAreNamed) {
  const ProcessResult result = Ashlar("fit model.ash --threads 1 --ram 8KB");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              HasSubstr("in any of these ways, streamed weights among them: --ram is "));
  EXPECT_THAT(result.out, HasSubstr("  streamed weights  "));
  // Weights in flash are read in place.
  EXPECT_THAT(Ashlar("fit model.ash --threads 1 --ram 8KB --flash 1MB").out,
              ::testing::Not(HasSubstr("streamed")));
}

// Regression: the command had no option of the model, and was about another model or refused.
TEST_F(FitCommandTest, CommandsOpenTheModelAsItWasOpened) {
  const char* const opened = "--shape data=2x3x64x64 --pixels 48x48,imagenet";
  const ProcessResult result = Fit(absl::StrCat("--ram 1GB ", opened));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  bool eight_bits = false;
  for (const json& way : document["ways"]) {
    if (way.contains("refused")) continue;
    EXPECT_THAT(way["command"].get<std::string>(), HasSubstr(absl::StrCat("model.ash ", opened)));
    Check(way, document);
    eight_bits = eight_bits || way["numbers"] == "8 bits";
  }
  EXPECT_TRUE(eight_bits);
}

TEST_F(FitCommandTest, FaultsAreNamed) {
  ExpectEndings("fit ", {{"model.ash", 2, "--ram"},
                         {"model.ash --ram many", 2, "many"},
                         {"none.ash --ram 1MB", 6, "none.ash"}});
}

}  // namespace
}  // namespace ashlar::testing
