// ashlar tune: recorded choices apply to the problem for which they were measured, and to no other.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/command/command_process.h"
#include "tests/support/environment.h"
#include "tests/support/sanitized.h"
#include "tools/report/processor_share.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class TuneCommandTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    ASSERT_EQ(Ashlar("zoo resnet18 -o resnet18.ash --quiet --image " + Image()).exit_code, 0);
  }
  static std::string Image() { return kSanitized ? "64" : "160"; }
  void SetUp() override { std::filesystem::remove(Path("kernels.json")); }
  // Returns the kernel that ran, by operator.
  static std::map<std::string, std::string> Kernels(const std::string& flags) {
    std::map<std::string, std::string> kernels;
    const json rows = Ashlar("profile resnet18.ash --json " + flags).Json()["rows"];
    for (const json& row : rows) kernels[row["name"]] = row["kernel"];
    return kernels;
  }
  static int Problems(const std::string& flags) {
    const ProcessResult result = Ashlar("tune resnet18.ash --seconds 0.2 --json " + flags);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    int tried = 0;
    const json problems = result.Json()["problems"];
    for (const json& problem : problems) tried += !problem["trials"].empty();
    return tried;
  }
};

TEST_F(TuneCommandTest, TuneIsRememberedAndUsed) {
  const ProcessResult tuned = Ashlar("tune model.ash --threads 2 --json");
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  json record = json::parse(Read("kernels.json"));
  ASSERT_EQ(record["processors"].size(), 1u);
  record.erase("tiles");
  if (tuned.Json()["problems"].empty()) GTEST_SKIP() << "nothing to choose on this processor";
  // Records each problem's last direct kernel, whatever the times were: the record decides.
  json& problems = record["processors"].front();
  std::map<std::string, std::string> wanted;
  const json tried = tuned.Json()["problems"];
  for (const json& problem : tried) {
    // A kernel without workspace, which fits under any peak.
    std::string last;
    for (const json& trial : problem["trials"]) {
      const std::string kernel = trial["kernel"];
      if (absl::StartsWith(kernel, "panel")) last = kernel;
    }
    if (last.empty()) continue;
    problems[problem["key"].get<std::string>()] = {{"family", last.substr(0, last.find('/'))},
                                                   {"variants", {{"2", last}}}};
    wanted[problem["node"]] = last;
  }
  Write("kernels.json", record.dump());
  const auto kernels = [&](const std::string& flags) {
    std::map<std::string, std::string> used;
    const json rows = Ashlar("profile model.ash --threads 2 --json " + flags).Json()["rows"];
    for (const json& row : rows) {
      if (wanted.count(row["name"]) != 0) used[row["name"]] = row["kernel"];
    }
    return used;
  };
  EXPECT_EQ(kernels(""), wanted);
  const auto by_table = kernels("--no-autotune");
  std::filesystem::remove(Path("kernels.json"));
  EXPECT_EQ(kernels(""), by_table);
}

// Regression: on a busy machine "memory 2.9 GB/s" was recorded for good, and expected times
// followed it.
TEST_F(TuneCommandTest, SpeedsOfABusyMachineAreNotRecorded) {
  std::atomic<bool> done(false);
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 4 * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&done] {
      while (!done) {
      }
    });
  }
  EXPECT_LT(ShareOfProcessors(2), 0.75);
  const ProcessResult busy =
      Ashlar("tune model.ash --threads 1 --duration 50ms --kernels busy.json");
  done = true;
  for (std::thread& other : others) other.join();
  ASSERT_EQ(busy.exit_code, 0) << busy.err;
  EXPECT_THAT(busy.err, HasSubstr("speeds are not recorded: a thread got "));
  EXPECT_THAT(Ashlar("tune -h").out, HasSubstr("speeds of the processor"));
}

TEST_F(TuneCommandTest, TuneKeepsFilesThatAreNoRecords) {
  Write("kernels.json", R"({"format": "something else"})");
  const ProcessResult result = Ashlar("tune model.ash");
  EXPECT_EQ(result.exit_code, 6);  // Regression: it was 1
  EXPECT_THAT(result.err, HasSubstr("kernels.json: format: 'something else', expected"));
  EXPECT_EQ(Read("kernels.json"), R"({"format": "something else"})");
  EXPECT_EQ(Ashlar("run model.ash").exit_code, 0);
  std::filesystem::remove(Path("kernels.json"));
}

TEST_F(TuneCommandTest, PoliciesHaveRecordsOfTheirOwn) {
  const auto by_table = Kernels("");
  if (Problems("--exact") == 0) GTEST_SKIP() << "nothing to choose on this processor";
  EXPECT_EQ(Kernels(""), by_table);
  ASSERT_GT(Problems(""), 0);
  for (const auto& [node, kernel] : Kernels("--exact")) {
    EXPECT_FALSE(absl::StartsWith(kernel, "winograd")) << node;
  }
}

TEST_F(TuneCommandTest, TunesAModelInParts) {
  if (kSanitized) GTEST_SKIP() << "each part is tuned on its own in other tests";
  const std::string budget = std::string("--memory-budget min") + kQuick;
  const json plan = Ashlar("plan model.ash --json " + budget).Json();
  const std::string tiles = "--tile '" + plan["tile"].get<std::string>() + "'";
  for (const std::string& flags : {tiles, budget}) {
    if (flags == budget && !LongTests()) continue;  // gives the same tiles
    SCOPED_TRACE(flags);
    const ProcessResult tuned = Ashlar("tune model.ash " + flags);
    EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
    const ProcessResult run = Ashlar("compare model.ash " + flags);
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  }
}

// Plans use the tuned tiles of the same model, policy and number of threads, and no others.
TEST_F(TuneCommandTest, TilesOnRecordAreThoseOfPlans) {
  const std::string size = "x3x" + Image() + "x" + Image();
  const std::string model = "resnet18.ash --threads 1 --shape data=4" + size;
  const ProcessResult tuned = Ashlar("tune --seconds 0.1 --json " + model);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const json tried = tuned.Json()["tiles"];
  ASSERT_FALSE(tried.empty());
  json record = json::parse(Read("kernels.json"));
  ASSERT_EQ(record["tiles"].front().size(), 1u);
  const std::string first = tried[0]["tile"];  // batch tiles, up to the last cut
  ASSERT_THAT(first, HasSubstr(":batch"));
  const std::string tiles = first.substr(0, first.find(':')) + ":batch4";
  // Regression: `tune` recorded no tiles, and `doctor` counted the model as one with tiles.
  record["tiles"].front().front() = {{"1", ""}};
  Write("kernels.json", record.dump());
  EXPECT_THAT(Ashlar("doctor").out, ::testing::Not(HasSubstr("tiles of")));
  record["tiles"].front().front() = {{"1", tiles}};
  Write("kernels.json", record.dump());
  const auto tiles_of = [](const std::string& arguments) {
    const ProcessResult planned = Ashlar("plan --json " + arguments);
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    return planned.Json()["tile"].get<std::string>();
  };
  EXPECT_EQ(tiles_of(model), tiles);
  EXPECT_THAT(Ashlar("doctor").out, HasSubstr(", tiles of 1 model\n"));
  EXPECT_THAT(Ashlar("plan " + model).out, HasSubstr("; tiles measured, too"));
  EXPECT_EQ(Ashlar("verify " + model).exit_code, 0);
  const std::string others[] = {model + " --tile none",
                                model + " --no-autotune",
                                model + " --exact",
                                model + " --prefer memory",
                                model + " --inplace off",
                                model + " --total-budget 2GB",
                                "resnet18.ash --threads 2 --shape data=4" + size,
                                "resnet18.ash --threads 1 --shape data=2" + size};
  for (const std::string& arguments : others) EXPECT_EQ(tiles_of(arguments), "") << arguments;
  // Files are packed for any number of threads, and layers are compared untiled.
  ASSERT_EQ(Ashlar("convert resnet18.ash -o packed.ash --pack").exit_code, 0);
  EXPECT_THAT(Ashlar("inspect packed.ash").out, ::testing::Not(HasSubstr(tiles)));
  EXPECT_EQ(Ashlar("compare --layers all " + model).exit_code, 0);
  // The recorded tiles are tried again; they stay if they are still the fastest, otherwise they are
  // replaced.
  const ProcessResult again = Ashlar("tune --seconds 0.1 --json " + model);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.Json()["tiles"][0]["tile"], tiles);
  // With `--tile none` only kernels are timed.
  EXPECT_TRUE(Ashlar("tune --seconds 0.1 --json --tile none " + model).Json()["tiles"].empty());
}

// Kernels are timed in the untiled graph. Regression: they were looked up by the nodes of its
// tiles.
TEST_F(TuneCommandTest, KernelsAreTunedAsItIsWhateverTilesAreOnRecord) {
  const std::string arguments = "tune resnet18.ash --passes none --threads 1 --seconds 0.1 --json";
  ASSERT_EQ(Ashlar(arguments).exit_code, 0);
  json record = json::parse(Read("kernels.json"));
  if (!record.contains("tiles")) GTEST_SKIP() << "nothing is tried without the passes";
  record["tiles"].front().front() = {{"1", "5-20:rows2"}};
  Write("kernels.json", record.dump());
  EXPECT_EQ(Ashlar(arguments).exit_code, 0);
}

TEST_F(TuneCommandTest, AFamilyThatIsNoMoreIsReplaced) {
  const int problems = Problems("");
  if (problems == 0) GTEST_SKIP() << "nothing to choose on this processor";
  json record = json::parse(Read("kernels.json"));
  for (json& choice : record["processors"].front()) choice["family"] = "abacus";
  Write("kernels.json", record.dump());
  EXPECT_EQ(Problems(""), problems);
  EXPECT_THAT(Read("kernels.json"), ::testing::Not(HasSubstr("abacus")));
}

TEST_F(TuneCommandTest, ARecordThatCannotBeReadIsSaidToBeLeftAlone) {
  Write("kernels.json", "[");
  const ProcessResult run = Ashlar("run model.ash");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("kernels by the table: kernels.json: "));
  EXPECT_EQ(Ashlar("run model.ash --no-autotune").err, "");
  EXPECT_EQ(Ashlar("run model.ash --quiet").err, "");
  EXPECT_EQ(Read("kernels.json"), "[");
}

}  // namespace
}  // namespace ashlar::testing
