// Profile dumps as files that the command writes, reads and compares.
#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kRealDump[] = "data/megengine-resnet50-b10.profile.json";
constexpr char kAsRecorded[] = " --passes none --scheduler megengine ";

class DumpCommandsTest : public CommandTest {
 protected:
  static void ExpectSuccess(const std::string& arguments) {
    const ProcessResult result = Ashlar(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.err;
  }
};

TEST_F(DumpCommandsTest, DumpsComeBackAsTheSameGraph) {
  const std::string options = kAsRecorded + std::string("--warmup 0 --quiet --dump ");
  ExpectSuccess("profile model.ash" + options + "first.json --static-memory-info board");
  EXPECT_TRUE(std::filesystem::exists(Path("board/graph.json")));
  EXPECT_TRUE(std::filesystem::exists(Path("board/StaticMemoryInfo.json")));
  ExpectSuccess("convert first.json -o again.ash --seed 3");
  ExpectSuccess("profile again.ash" + options + "second.json");
  const ProcessResult result = Ashlar("compare first.json second.json --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json figures = result.Json()["figures"];
  EXPECT_GT(figures["operators"][0], 0);
  EXPECT_EQ(figures["equal_positions"], figures["operators"]);
  EXPECT_EQ(figures["equal_update_times"], figures["operators"]);
  EXPECT_EQ(figures["union_bytes"][0], figures["union_bytes"][1]);
  EXPECT_EQ(figures["equal_offsets"], figures["common_vars"]);
  EXPECT_THAT(Ashlar("compare first.json second.json").out, HasSubstr("ConvolutionForward"));
}

TEST_F(DumpCommandsTest, InspectShowsTheRun) {
  ExpectSuccess("profile model.ash --warmup 0 --dump run.json" + std::string(kAsRecorded));
  const ProcessResult result =
      Ashlar("inspect run.json --recorded-plan recorded.svg --own-plan own.csv --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json document = result.Json();
  EXPECT_GT(document["recorded"]["union_bytes"], 0);
  EXPECT_GT(document["recorded"]["types"]["ConvolutionForward"]["device_ms"], 0);
  EXPECT_GT(document["plans"]["own"]["arena_bytes"], 0);
  EXPECT_THAT(Read("recorded.svg"), HasSubstr("<svg"));
  EXPECT_THAT(Read("own.csv"), HasSubstr("lower"));
  EXPECT_EQ(Ashlar("inspect model.ash --recorded-plan x.svg").exit_code, 2);
  EXPECT_EQ(Ashlar("inspect run.json --recorded-plan x.txt").exit_code, 2);
}

TEST_F(DumpCommandsTest, MalformedDumpsAreRejected) {
  Write("none.json", "");
  Write("object.json", "{}");
  Write("deep.json", std::string(1000000, '['));
  for (const char* file : {"none.json", "object.json", "deep.json"}) {
    for (const char* command : {"convert ", "inspect ", "plan ", "run ", "compare object.json "}) {
      const std::string arguments =
          command + std::string(file) + (command == std::string("convert ") ? " -o out.ash" : "");
      const ProcessResult result = Ashlar(arguments);
      EXPECT_EQ(result.exit_code, 6) << arguments << "\n" << result.err;
      EXPECT_THAT(result.err, HasSubstr(".json: "));
    }
  }
}

TEST_F(DumpCommandsTest, RealDump) {
  const std::string dump = SharedData(kRealDump);
  ExpectSuccess("convert " + dump + " -o m.ash --seed 1");
  for (const bool inplace : {false, true}) {
    const ProcessResult result =
        Ashlar(absl::StrCat("plan m.ash --align 512 --workspace recorded --json --inplace ",
                            inplace ? "on" : "off", kAsRecorded));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json document = result.Json();
    EXPECT_EQ(document["pools"]["arena"]["planned_bytes"], inplace ? 72272896 : 96337920);
    EXPECT_EQ(document["arena"]["lower_bound_bytes"], inplace ? 72272896 : 96337920);
  }
  const nlohmann::json recorded = Ashlar("inspect " + dump + " --json").Json()["recorded"];
  EXPECT_EQ(recorded["union_bytes"], 102443008);
  EXPECT_EQ(recorded["union_without_input_bytes"], 96421888);
}

// With seeded weights the imported network computes meaningful values.
TEST_F(DumpCommandsTest, RealDumpRuns) {
  const ProcessResult result = Ashlar("run " + SharedData(kRealDump) + " --output prob.npz --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace ashlar::testing
