// Weights streamed from a packed file: by the commands, and from files that change while they are
// read.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "library/open_model.h"
#include "library/plan_model.h"
#include "runtime/cpu/cpu_device.h"
#include "serialization/npz.h"
#include "tests/support/command/command_path.h"
#include "tests/support/command/command_process.h"
#include "tests/support/command/memory_group.h"
#include "tests/support/status.h"
#include "tests/tools/streamed_session.h"
#include "tools/format.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StreamedFileTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    cpu::RegisterDevice();
    ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o whole.ash").exit_code, 0);
    ASSERT_EQ(Ashlar("convert whole.ash -o streamed.ash --pack").exit_code, 0);
  }
  // Returns the least window, as the error names it.
  static int64_t Least() {
    const ProcessResult none = Ashlar("plan streamed.ash --weights-budget 64");
    EXPECT_EQ(none.exit_code, 3);
    const char kBefore[] = "at least ";
    const size_t at = none.err.find(kBefore);
    EXPECT_NE(at, std::string::npos) << none.err;
    return std::stoll(none.err.substr(at + sizeof(kBefore) - 1));
  }
  static std::string Budget(int64_t bytes) { return absl::StrCat(" --weights-budget ", bytes); }
};

TEST_F(StreamedFileTest, PlannedIsMeasuredAndTheLeastWindowWorks) {
  const nlohmann::json whole = Ashlar("plan streamed.ash --json").Json();
  EXPECT_FALSE(whole.contains("weights_window"));
  const int64_t all = whole["pools"]["weights"]["planned_bytes"], least = Least();
  ASSERT_LT(2 * least, all) << "weights of one layer";
  EXPECT_EQ(Ashlar("run streamed.ash" + Budget(least - 1)).exit_code, 3);
  ASSERT_EQ(Ashlar("run whole.ash -o whole.npz").exit_code, 0);
  for (const int64_t budget : {least, 2 * least, all / 2, all}) {
    SCOPED_TRACE(budget);
    for (const char* threads : {" --threads 1", " --threads 2"}) {
      const ProcessResult run =
          Ashlar("run streamed.ash -o streamed.npz" + Budget(budget) + threads);
      EXPECT_EQ(run.exit_code, 0) << run.err;
      EXPECT_TRUE(CommandTest::Read("streamed.npz") == CommandTest::Read("whole.npz"));
    }
    const nlohmann::json plan = Ashlar("plan streamed.ash --json" + Budget(budget)).Json();
    const nlohmann::json& window = plan["weights_window"];
    const int64_t bytes = window["window_bytes"];
    EXPECT_LE(bytes, budget);
    EXPECT_EQ(plan["pools"]["weights"]["planned_bytes"], bytes);
    EXPECT_EQ(plan["total"]["parts"]["packed_weights_bytes"], bytes);
    EXPECT_EQ(plan["total"]["parts"]["weights_in_file_bytes"], 0);
    EXPECT_EQ(window["read_bytes"] == 0, budget == all);
    const ProcessResult verified = Ashlar("verify streamed.ash --json" + Budget(budget));
    EXPECT_EQ(verified.exit_code, 0) << verified.err;
    const nlohmann::json pool = verified.Json()["pools"]["weights"];
    EXPECT_EQ(pool["planned_bytes"], bytes);
    EXPECT_LE(pool["actual_bytes"].get<int64_t>(), bytes);
    EXPECT_GT(pool["actual_bytes"].get<int64_t>(), bytes - 64) << "to the end of the last weight";
    EXPECT_EQ(pool["method"], "highest byte changed in a patterned window");
  }
  EXPECT_THAT(Ashlar("plan streamed.ash" + Budget(least)).out,
              HasSubstr("weights are streamed from a packed file: of "));
}

// Regression: only the window's own time counted reads, and text gave none.
TEST_F(StreamedFileTest, ExpectedTimesCountReads) {
  const std::string options = "streamed.ash --weights-speed 100MB" + Budget(2 * Least());
  const nlohmann::json plan = Ashlar("plan --json " + options).Json();
  const nlohmann::json& window = plan["weights_window"];
  const double expected = window["expected_ms"], waiting = window["waiting_ms"];
  EXPECT_DOUBLE_EQ(plan["predicted_ms"], expected);
  EXPECT_GT(waiting, 0.9 * window["read_bytes"].get<double>() / 1e5) << "nearly all of the reads";
  EXPECT_LT(waiting, expected);
  EXPECT_EQ(window["disk"], "given");
  EXPECT_DOUBLE_EQ(window["disk_bytes_per_second"], 1e8);
  EXPECT_THAT(Ashlar("plan " + options).out,
              HasSubstr(absl::StrCat("a run is expected to take ", FormatMilliseconds(expected),
                                     ", of which it waits ", FormatMilliseconds(waiting),
                                     " for reads, at 0.10 GB/s and 1.00 ms a read "
                                     "(--weights-speed)\n")));
  EXPECT_THAT(Ashlar("plan --no-autotune streamed.ash" + Budget(2 * Least())).out,
              HasSubstr("at 1.00 GB/s and 0.10 ms a read (assumed: `tune` measures the disk)"));
  const nlohmann::json profile = Ashlar("profile --json " + options).Json();
  EXPECT_NEAR(profile["expected_ms"], expected, 1e-9 * expected);
  int rows = 0;
  for (const nlohmann::json& row : profile["rows"]) {
    if (row["name"] != "(waiting for weights)") continue;
    ++rows;
    EXPECT_DOUBLE_EQ(row["expected_ms"], waiting);
    EXPECT_GE(row["ms"].get<double>(), 0);
  }
  EXPECT_EQ(rows, 1);
  const nlohmann::json family =
      Ashlar("plan --json --shape data=1..2x3x64x64 " + options).Json()["family"];
  EXPECT_DOUBLE_EQ(family["points"][0]["predicted_ms"], expected);
}

// Regression: nothing said that another file is needed.
TEST_F(StreamedFileTest, PlansOfUnpackedFilesNameTheCommandThatPacks) {
  const ProcessResult plan = Ashlar("plan whole.ash --weights-budget 3MiB");
  EXPECT_EQ(plan.exit_code, 0) << "to see what packing would bring";
  EXPECT_THAT(plan.out,
              HasSubstr("this file's weights are not packed: the plan is of the file that `ashlar "
                        "convert whole.ash -o FILE.ash --pack --weights-budget 3145728` writes"));
}

// Regression: the dump was measured with weights packed in memory, which cannot be streamed.
TEST_F(StreamedFileTest, ProfilesAreDumped) {
  const std::string budget = Budget(2 * Least());
  const ProcessResult dumped = Ashlar("profile streamed.ash --dump dump.json -q" + budget);
  EXPECT_EQ(dumped.exit_code, 0) << dumped.err;
  EXPECT_EQ(Ashlar("inspect dump.json -q").exit_code, 0);
}

TEST_F(StreamedFileTest, PlansAndOptionsRepeatIt) {
  const std::string budget = Budget(3 * Least());
  const nlohmann::json plan = Ashlar("plan streamed.ash --json" + budget).Json();
  std::string repeat;
  for (const std::string part : plan["repeat"]) absl::StrAppend(&repeat, " ", part);
  EXPECT_EQ(Ashlar("plan streamed.ash --json" + repeat).Json()["weights_window"],
            plan["weights_window"]);
  ASSERT_EQ(Ashlar("plan streamed.ash -o s.plan" + budget).exit_code, 0);
  ASSERT_EQ(Ashlar("run whole.ash -o whole.npz").exit_code, 0);
  const ProcessResult run = Ashlar("run streamed.ash --plan s.plan -o streamed.npz");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(CommandTest::Read("streamed.npz") == CommandTest::Read("whole.npz"));
  const nlohmann::json verified = Ashlar("verify streamed.ash --plan s.plan --json").Json();
  EXPECT_EQ(verified["pools"]["weights"]["planned_bytes"], plan["weights_window"]["window_bytes"]);
}

// The total leaves fewer bytes than all weights take in any form.
TEST_F(StreamedFileTest, ATotalBudgetStreamsWhatDoesNotFit) {
  ASSERT_EQ(Ashlar("zoo resnet18 --image 32 -o large.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("convert large.ash -o large.packed.ash --pack").exit_code, 0);
  const nlohmann::json plan = Ashlar("plan large.packed.ash --json").Json();
  const int64_t weights = plan["pools"]["weights"]["planned_bytes"];
  const int64_t total = plan["total"]["planned_bytes"];
  const std::string budget = absl::StrCat(" --total-budget ", total - weights / 2);
  EXPECT_EQ(Ashlar("plan large.ash" + budget).exit_code, 3);
  const ProcessResult planned = Ashlar("plan large.packed.ash --json" + budget);
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(
      planned.err,
      HasSubstr("large.packed.ash: streams its weights, as the total has no room for all of them"));
  EXPECT_LE(planned.Json()["pools"]["weights"]["planned_bytes"].get<int64_t>(), weights / 2);
  const ProcessResult verified = Ashlar("verify large.packed.ash --json" + budget);
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
}

// A layer of 2 MB does not fit the window as a whole.
TEST_F(StreamedFileTest, PackingForAWindowCutsIntoPanels) {
  const int64_t whole = Least();
  const std::string budget = Budget(whole / 4);
  EXPECT_EQ(Ashlar("plan streamed.ash" + budget).exit_code, 3);
  const nlohmann::json fresh = Ashlar("plan whole.ash --json" + budget).Json();
  ASSERT_EQ(Ashlar("convert whole.ash -o panels.ash --pack" + budget).exit_code, 0);
  const nlohmann::json plan = Ashlar("plan panels.ash --json" + budget).Json();
  EXPECT_LE(plan["weights_window"]["window_bytes"].get<int64_t>(), whole / 4);
  EXPECT_EQ(plan["weights_window"], fresh["weights_window"]) << "of a file that is not packed";
  EXPECT_GT(plan["weights_window"]["expected_ms"].get<double>(), 0);
  ASSERT_EQ(Ashlar("run whole.ash -o whole.npz").exit_code, 0);
  const ProcessResult same = Ashlar("compare panels.ash --ref whole.npz" + budget);
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  const ProcessResult verified = Ashlar("verify panels.ash" + budget);
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_EQ(Ashlar("run panels.ash").exit_code, 0) << "its panels also run from the mapped file";
}

// Winograd's form of a filter of 3x3 takes up to four times its bytes: it is used if reading it
// takes less time than it saves. Weights of 16 bits take half the time to read.
TEST_F(StreamedFileTest, FormsAndTypesThatTakeFewerBytesAreUsedIfReadingIsSlow) {
  ASSERT_EQ(Ashlar("zoo resnet18 --image 64 -o forms.ash").exit_code, 0);
  const auto window = [](const std::string& options) {
    return Ashlar(
               "plan forms.ash --json --threads 1 --processor avx2/32K/512K --weights-budget "
               "4MiB " +
               options)
        .Json()["weights_window"];
  };
  const nlohmann::json fast = window("--weights-speed 100GB"),
                       slow = window("--weights-speed 100MB");
  const nlohmann::json half = window("--weights-speed 100MB --precision bf16");
  EXPECT_GT(fast["read_bytes"], slow["read_bytes"]);
  EXPECT_LT(fast["expected_ms"], slow["expected_ms"]);
  const double ratio = half["read_bytes"].get<double>() / slow["read_bytes"].get<double>();
  EXPECT_GT(ratio, 0.4);
  EXPECT_LT(ratio, 0.55);
  EXPECT_LT(half["expected_ms"].get<double>(), 0.7 * slow["expected_ms"].get<double>());
}

// 16 bits were packed by Python and C alone.
TEST_F(StreamedFileTest, PacksSixteenBits) {
  const std::string options = " --precision bf16" + Budget(Least() / 2);
  ASSERT_EQ(Ashlar("convert whole.ash -o half.ash --pack" + options).exit_code, 0);
  const nlohmann::json window = Ashlar("plan half.ash --json" + options).Json()["weights_window"];
  EXPECT_EQ(window, Ashlar("plan whole.ash --json" + options).Json()["weights_window"]);
  const ProcessResult verified = Ashlar("verify half.ash --no-values" + options);
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  // Not beside the reference: with random weights, sums of some processors' products of 16 bits are
  // a tenth of the largest output away from it.
  ASSERT_EQ(Ashlar("run whole.ash --precision bf16 -o whole.npz").exit_code, 0);
  ASSERT_EQ(Ashlar("run half.ash -o half.npz" + options).exit_code, 0);
  EXPECT_TRUE(CommandTest::Read("half.npz") == CommandTest::Read("whole.npz"));
  EXPECT_EQ(Ashlar("convert whole.ash -o plain.ash --precision bf16").exit_code, 2);
}

TEST_F(StreamedFileTest, PicturesShowTheWindow) {
  ASSERT_EQ(Ashlar("plan streamed.ash -o w.svg" + Budget(2 * Least())).exit_code, 0);
  const std::string picture = CommandTest::Read("w.svg");
  EXPECT_THAT(picture, HasSubstr("weights const{"));
  // Regression: both together were called the arena.
  const nlohmann::json plan = Ashlar("plan streamed.ash --json" + Budget(2 * Least())).Json();
  const int64_t arena = plan["arena_bytes"], window = plan["weights_window"]["window_bytes"];
  EXPECT_THAT(picture, HasSubstr(absl::StrCat(">arena ", arena, " bytes (")));
  EXPECT_THAT(picture, HasSubstr(absl::StrCat(">window of weights ", window, " bytes (")));
  ASSERT_EQ(Ashlar("plan streamed.ash -o w.html" + Budget(2 * Least())).exit_code, 0);
  EXPECT_THAT(CommandTest::Read("w.html"), HasSubstr("streamed.ash: weights"));
}

// Charged for its anonymous memory, and for the pages of files that it is the first to read.
TEST_F(StreamedFileTest, RunsInAControlGroupOfThePlannedTotal) {
  ASSERT_EQ(Ashlar("zoo resnet18 --image 64 -o wide.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("convert wide.ash -o wide.packed.ash --pack --weights-budget 1MiB").exit_code,
            0);
  const std::string options = "wide.packed.ash --weights-budget 1MiB --threads 1";
  const nlohmann::json plan = Ashlar("plan --json " + options).Json();
  const int64_t limit = plan["total"]["planned_bytes"];
  const int64_t streamed = plan["weights_window"]["read_bytes"];
  ASSERT_LT(2 * limit, streamed) << "the weights would not fit";
  const MemoryGroup group(limit);
  if (!group) GTEST_SKIP() << "no memory control group can be made here";
  EXPECT_TRUE(AshlarInside(group, Path(""), absl::StrCat("run ", options, " -q -o inside.npz")));
  const ProcessResult same = Ashlar("compare wide.ash --ref inside.npz");
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

// Weights are packed one by one, and pages of the model's file are released.
TEST_F(StreamedFileTest, PacksInLessMemoryThanTheWeightsTake) {
  ASSERT_EQ(Ashlar("zoo resnet18 --image 64 -o many.ash").exit_code, 0);
  const std::string options = " --pack --weights-budget 1MiB";
  ASSERT_EQ(Ashlar("convert many.ash -o outside.ash" + options).exit_code, 0);
  constexpr int64_t kLimit = 32 << 20;
  ASSERT_GT(std::filesystem::file_size(Path("many.ash")), kLimit);
  const MemoryGroup group(kLimit);
  if (!group) GTEST_SKIP() << "no memory control group can be made here";
  EXPECT_TRUE(AshlarInside(group, Path(""), "convert many.ash -o inside.ash -q" + options));
  EXPECT_TRUE(CommandTest::Read("inside.ash") == CommandTest::Read("outside.ash"));
}

// A pipe cannot be written to again: its checksums are computed before.
TEST_F(StreamedFileTest, PacksIntoAPipe) {
  const std::string pipe = Path("pipe.ash"), from_pipe = Path("from_pipe.ash");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string command =
      absl::StrCat("cat '", pipe, "' > '", from_pipe, "' & '", CommandPath(), "' convert '",
                   Path("whole.ash"), "' -o '", pipe, "' --pack -q; result=$?; wait; exit $result");
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(CommandTest::Read("from_pipe.ash") == CommandTest::Read("streamed.ash"));
}

TEST_F(StreamedFileTest, RefusalsSayWhatToDo) {
  const std::string budget = Budget(3 << 20);
  // Packed for instructions that plans for this processor do not use.
  const Processor processor = Value(OpenDevice({}))->processor();
  const bool wide = processor.isa == Isa::kAvx512;
  ASSERT_EQ(Ashlar(absl::StrCat("convert whole.ash -o other.ash --pack --processor ",
                                wide ? "avx2" : "avx512", "/32K/1M"))
                .exit_code,
            0);
  const std::string other = absl::StrCat(
      "other.ash: weights are packed for '", wide ? "avx2" : "avx512", "', the plan is for '",
      processor.ToString(), "'; ", wide ? "plan with --processor avx2/" : "pack it again, as");
  const std::string pack = " --pack --weights-budget 3145728";
  ExpectEndings(
      "",
      {{"run whole.ash" + budget, 1,
        "whole.ash: its weights are not packed, so they cannot be streamed; `ashlar "
        "convert whole.ash -o FILE.ash" +
            pack + "` writes a file"},
       {"plan whole.ash -o w.plan" + budget, 1,
        "`ashlar convert whole.ash -o FILE.ash" + pack + "`"},
       {"run streamed.ash --exact" + budget, 1,
        "streamed.ash: weights are packed under 'exact off', asked for is 'exact on'; "
        "ask for what it is packed under, or pack it again, as `ashlar convert streamed.ash -o "
        "FILE.ash --pack --exact --weights-budget 3145728` does"},
       {"run streamed.ash --precision bf16" + budget, 1,
        "asked for is 'precision BFloat16'; ask for what it is packed under, or pack it again, as "
        "`ashlar convert streamed.ash -o FILE.ash --pack --precision BFloat16 --weights-budget"},
       {"run other.ash --threads 1" + budget, 1, other},
       {"tune streamed.ash" + budget, 2, "without it `tune` records the speed of the disk"},
       {"plan streamed.ash --planner naive" + budget, 2,
        "--planner naive with --weights-budget: naive lets no two weights"}});
  EXPECT_FALSE(std::filesystem::exists(Path("w.plan")));
}

// Regression: the command that the error printed gave the next error.
TEST_F(StreamedFileTest, TheCommandThatARefusalPrintsPacks) {
  const std::string budget = Budget(Least() / 4);
  std::string command = Ashlar("run whole.ash" + budget).err;
  command = command.substr(command.find("`ashlar ") + 8);
  command = command.substr(0, command.find('`'));
  ASSERT_EQ(Ashlar(command).exit_code, 0) << command;
  const ProcessResult run = Ashlar("run FILE.ash" + budget);
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

// Regression: a note said that the packed weights do not suit options that nobody had given.
TEST_F(StreamedFileTest, VerifySaysThatValuesNeedAllWeights) {
  const std::string verify = "verify streamed.ash" + Budget(2 * Least());
  const std::string all = Ashlar(verify).err, none = Ashlar(verify + " --no-values").err;
  EXPECT_THAT(all, HasSubstr("values are compared with all weights in memory"));
  EXPECT_THAT(all, Not(HasSubstr("packing anew")));
  EXPECT_EQ(none, "");
  EXPECT_EQ(Ashlar("verify streamed.ash").err, "");
}

// Makes every read of the file's mappings in this process, if there are any, a signal, until it is
// destroyed.
class Unreadable {
 public:
  explicit Unreadable(const std::string& path) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (!absl::EndsWith(line, path)) continue;
      uintptr_t begin = 0, end = 0;
      EXPECT_EQ(std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end), 2);
      ranges_.emplace_back(reinterpret_cast<void*>(begin), end - begin);
    }
    for (const auto& [begin, bytes] : ranges_) EXPECT_EQ(mprotect(begin, bytes, PROT_NONE), 0);
  }
  ~Unreadable() {
    for (const auto& [begin, bytes] : ranges_) EXPECT_EQ(mprotect(begin, bytes, PROT_READ), 0);
  }
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;

 private:
  std::vector<std::pair<void*, size_t>> ranges_;
};

// So a file that shrinks, or a disk that fails, cannot be a signal in a run: everything that a run
// needs (weights that stay, tables, biases, scales) was read before, or is read into the window.
TEST_F(StreamedFileTest, RunsReadNothingOfTheMappedFile) {
  std::mt19937_64 random(5);
  ASSERT_TRUE(IsOk(WriteNpz({{"data", RandomTensor(random, {2, 3, 64, 64})}}, Path("images.npz"))));
  for (const char* const made : {"zoo squeezenet --image 32", "zoo mobilenet_v2 --image 32",
                                 "quantize whole.ash --calibrate images.npz"}) {
    SCOPED_TRACE(made);
    ASSERT_EQ(Ashlar(absl::StrCat(made, " -o made.ash")).exit_code, 0);
    ASSERT_EQ(Ashlar("convert made.ash -o mapped.ash --pack").exit_code, 0);
    const int64_t all =
        Ashlar("plan mapped.ash --json").Json()["pools"]["weights"]["planned_bytes"];
    for (const int64_t budget : {all * 6 / 10, all}) {
      StreamedSession session(Path("mapped.ash"), budget);
      const std::string wanted = session.Outputs();
      const Unreadable mapped(Path("mapped.ash"));
      for (int run = 0; run < 2; ++run) EXPECT_EQ(session.Outputs(), wanted);
    }
  }
}

class ChangedFileTest : public StreamedFileTest {
 protected:
  ChangedFileTest() : content_(CommandTest::Read("streamed.ash")), path_(Path("changing.ash")) {
    CommandTest::Write("changing.ash", content_);
    session_ = std::make_unique<StreamedSession>(path_, Least());
    wanted_ = session_->Outputs();
  }
  // Puts the file back as it was: the session is of use again.
  void ExpectUsableAgain() {
    CommandTest::Write("changing.ash", content_);
    for (int run = 0; run < 3; ++run) EXPECT_EQ(session_->Outputs(), wanted_);
  }

  const std::string content_, path_;
  std::unique_ptr<StreamedSession> session_;
  std::string wanted_;
};

TEST_F(ChangedFileTest, AShorterFileIsAnError) {
  const auto bytes = static_cast<int64_t>(content_.size());
  for (const int64_t left : {bytes - 1, bytes / 2, int64_t{0}}) {
    std::filesystem::resize_file(path_, static_cast<uintmax_t>(left));
    for (int run = 0; run < 2; ++run) {
      const absl::Status status = session_->Run();
      EXPECT_TRUE(FailsWith(status, path_ + ": read "));
      EXPECT_TRUE(FailsWith(status, " bytes at offset "));
      EXPECT_TRUE(FailsWith(status, ": the file is shorter than it was"));
    }
    ExpectUsableAgain();
  }
}

TEST_F(ChangedFileTest, OtherBytesInItAreAnError) {
  std::string other = content_;
  other.back() = static_cast<char>(~other.back());
  CommandTest::Write("changing.ash", other);
  EXPECT_TRUE(FailsWith(session_->Run(), path_ + ": was written to since it was opened"));
  ExpectUsableAgain();
}

TEST_F(ChangedFileTest, AFileThatReplacesItIsNotRead) {
  CommandTest::Write("new.ash", std::string(content_.size(), 'x'));
  std::filesystem::rename(Path("new.ash"), path_);
  EXPECT_EQ(session_->Outputs(), wanted_);
  std::filesystem::remove(path_);
  EXPECT_EQ(session_->Outputs(), wanted_);
}

TEST_F(ChangedFileTest, AFileThatIsReplacedBeforeItIsStreamedIsRefused) {
  Model model = Value(OpenModel(path_, {}));
  CommandTest::Write("new.ash", content_);
  std::filesystem::rename(Path("new.ash"), path_);
  PlanRequest request;
  request.target.weights_budget = 3 << 20;
  EXPECT_TRUE(FailsWith(PlanModel(std::move(model), request, nullptr).status(),
                        path_ + ": is another file than the one that was opened"));
}

}  // namespace
}  // namespace ashlar::testing
