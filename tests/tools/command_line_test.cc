// Conventions of all subcommands: help, usage errors, exit codes, and the stream of each output.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/command/command_process.h"
#include "tools/command.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct UsageError {
  const char* arguments;
  const char* message;
};

class CommandLineTest : public CommandTest {
 protected:
  // Returns the error, after checking that it is a usage error with the right message.
  std::string ErrorOf(const UsageError& usage) {
    const ProcessResult result = Ashlar(usage.arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err, HasSubstr(usage.message));
    return result.err;
  }
};

TEST_F(CommandLineTest, EverySubcommandHasAScreenOfHelpWithExamples) {
  for (const CommandRow& row : Commands()) {
    SCOPED_TRACE(row.name);
    const ProcessResult result = Ashlar(std::string(row.name) + " -h");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, StartsWith(row.summary));
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  ashlar "));
    EXPECT_THAT(result.err, IsEmpty());
    EXPECT_LE(std::count(result.out.begin(), result.out.end(), '\n'), 72);
  }
}

// Regression: the options that an option excludes or needs stood in place of its value, also in the
// manual page and in completions.
TEST_F(CommandLineTest, FlagsTakeNoValueInHelp) {
  for (const CommandRow& row : Commands()) {
    SCOPED_TRACE(row.name);
    const ProcessResult result = Ashlar(std::string(row.name) + " -h");
    EXPECT_THAT(result.out, Not(HasSubstr("Excludes:")));
    EXPECT_THAT(result.out, Not(HasSubstr("Needs:")));
  }
}

TEST_F(CommandLineTest, HelpAndVersion) {
  EXPECT_THAT(Ashlar("--help").out, HasSubstr("doctor"));
  EXPECT_THAT(Ashlar("--version").out, StartsWith("ashlar "));
  for (const char* text : {"own kernels for ", ".onnx", ".npz", "schema version 1"}) {
    EXPECT_THAT(Ashlar("--version").out, HasSubstr(text));
  }
  for (const char* text :
       {"Exit codes: 0 ok, 1 failure, 2 usage", "130", "ASHLAR_KERNELS", "ASHLAR_MAX_ISA"}) {
    EXPECT_THAT(Ashlar("-h").out, HasSubstr(text));
  }
  EXPECT_EQ(Ashlar("help").out, Ashlar("--help").out);
  EXPECT_EQ(Ashlar("help plan").out, Ashlar("plan --help").out);
}

TEST_F(CommandLineTest, UnknownNamesAreUsageErrorsWithTheNearestName) {
  const UsageError cases[] = {
      {"run model.ash --treads 2", "unknown option --treads; did you mean --threads?"},
      {"run --treads=2", "unknown option --treads; did you mean --threads?"},
      {"plan model.ash --budget 1MB", "unknown option --budget; did you mean --memory-budget?"},
      {"convert model.ash -o a.ash --flops 1", "did you mean --max-extra-flops?"},
      {"run model.ash --y 1", "unknown option --y; `ashlar run"},
      {"plan model.ash --plannr auto --format svg", "did you mean --planner?"},
      {"banch model.ash", "unknown subcommand 'banch'; did you mean 'bench'?"},
      {"run model.ash --frobnicate", "unknown option --frobnicate; `ashlar run"},
      {"run -- model.ash --top 1", "unexpected argument '--top': what stands behind -- is no"},
      {"", "subcommand"},
      {"run", "MODEL"},
      {"zoo resnet18", "--output"},
  };
  for (const UsageError& usage : cases) {
    SCOPED_TRACE(usage.arguments);
    const std::string error = ErrorOf(usage);
    EXPECT_THAT(error, StartsWith("error: "));
    EXPECT_THAT(error, HasSubstr("-h` lists"));
  }
}

// A wrong value is found before any work: the model need not even exist.
TEST_F(CommandLineTest, WrongValuesAreUsageErrors) {
  const UsageError cases[] = {
      {"run none.ash --threads 0", "--threads"},
      {"run none.ash --threads two", "--threads"},
      {"run none.ash --top abc", "--top: 'abc' is not a whole number from 0 to"},
      {"run none.ash --seed -1", "--seed: '-1' is not a whole number of at least 0"},
      {"compare none.ash --ref r.npz --atol x", "--atol: 'x' is not a number of at least 0"},
      {"run none.ash --device tpu", "'tpu'"},
      {"run none.ash --mean a,b", "--mean"},
      {"run none.ash --layout chwn", "nchw or nhwc"},
      {"plan none.ash --planner bestfit", "best_fit"},
      {"plan none.ash --scheduler none", "--scheduler"},
      {"plan none.ash --passes fuse,bogus", "'bogus'"},
      {"plan none.ash --inplace maybe", "'maybe' is not on or off"},
      {"plan none.ash --align 48", "power of two"},
      {"plan none.ash --plan-time soon", "--plan-time"},
      {"plan none.ash --capacity 16XB", "'16XB' is not a size"},
      {"plan none.ash --format png", "'png'"},
      {"plan none.ash --compare auto,foo", "'foo'"},
      {"bench none.ash --warmup 3parsecs", "'3parsecs'"},
      {"bench none.ash --duration -1s", "--duration"},
      {"tune none.ash --duration 0s", "--duration is 0s"},
      {"bench none.ash --percentile 101", "101"},
      {"bench none.ash --in-flight 0", "--in-flight"},
      {"bench none.ash --arena-each", "--arena-each requires --in-flight"},
      {"compare none.ash --metric angle", "'angle'"},
      {"zoo alexnet -o a.ash", "alexnet"},
      {"zoo resnet18 --batch 0 -o a.ash", "--batch"},
      {"zoo vgg19 --image 300 -o a.ash", "224, 448, 672"},
      {"convert model.ash -o model.tflite", ".ash or .onnx"},
      {"zoo resnet18 -o r.onnx", "expected a .ash file"},
      {"run none.ash -o out.png", "-o out.png: cannot tell the format; expected a .npz file"},
      {"plan none.ash -o x.png", ".csv, .svg, .html, .htm, .plan or .txt"},
      {"plan none.ash --frontier -o x.csv", "expected a .svg file"},
      {"inspect none.json --own-plan x.png", "--own-plan x.png"},
      {"run none.ash --device 0", "expected cpu0:0, gpu0:0, mcu0:0, cpu, gpu or cuda:N"},
      {"plan none.ash --device gpu0:0:0", "expected cpu0:0, gpu0:0, mcu0:0, cpu, gpu or cuda:N"},
      {"plan none.ash --processor avx9/32K/1M", "--processor: 'avx9/32K/1M' is no processor"},
      {"plan none.ash --processor avx2/32K", "such as avx512/48K/2M"},
      {"compare none.ash --processor-b z80", "--processor-b: 'z80' is no processor"},
      {"run none.ash --precision fp8", "'fp8' is not fp32, fp16 or bf16"},
      {"compare none.ash --planner-b bestfit", "--planner-b: unknown planner 'bestfit'"},
      {"compare none.ash --tile-b 0-1:rows2 --memory-budget-b 1MB",
       "--tile-b excludes --memory-budget-b"},
      {"compare none.ash --memory-budget-b 1MB --planner-b naive", "--planner naive"},
      {"compare none.ash --ref x.npz --exact-b", "exclude each other"},
      {"bench none.ash --planner naive --memory-budget 1MB", "take another planner, such as auto"},
      {"plan none.ash --frontier --planner naive", "--planner naive"},
      {"plan none.ash --frontier --compare auto", "--compare is about one plan"},
      {"plan none.ash --frontier --tile-info t.json", "--tile-info is about one plan"},
      {"plan none.ash --frontier --capacity 1MB", "--capacity is about one plan"},
  };
  for (const UsageError& usage : cases) {
    SCOPED_TRACE(usage.arguments);
    ErrorOf(usage);
  }
}

TEST_F(CommandLineTest, RejectedFilesEndInSix) {
  Write("text.ash", "this is no model");
  Write("empty.ash", "");
  Write("cut.ash", Read("model.ash").substr(0, 1000));
  for (const char* file : {"none.ash", "text.ash", "empty.ash", "cut.ash", "."}) {
    for (const char* command : {"inspect", "plan", "run"}) {
      SCOPED_TRACE(std::string(command) + " " + file);
      const ProcessResult result = Ashlar(std::string(command) + " " + file);
      EXPECT_EQ(result.exit_code, 6);
      EXPECT_THAT(result.err, StartsWith(std::string("error: ") + file));
      EXPECT_THAT(result.out, IsEmpty());
    }
  }
}

TEST_F(CommandLineTest, ValuesMayFollowASpaceOrAnEqualsSign) {
  const ProcessResult space = Ashlar("plan model.ash --planner naive --threads 1 --json");
  const ProcessResult equals = Ashlar("plan model.ash --planner=naive --threads=1 --json");
  ASSERT_EQ(space.exit_code, 0) << space.err;
  ASSERT_EQ(equals.exit_code, 0) << equals.err;
  EXPECT_EQ(space.Json()["pools"], equals.Json()["pools"]);
  EXPECT_EQ(space.Json()["arena"]["planner"], "naive");
  EXPECT_EQ(Ashlar("zoo squeezenet -o=short.ash").exit_code, 0);
  EXPECT_EQ(Ashlar("inspect short.ash").exit_code, 0);
}

TEST_F(CommandLineTest, DevicesHaveACanonicalForm) {
  for (const char* device : {"cpu", "cpu0", "cpu0:0"}) {
    const ProcessResult result = Ashlar(std::string("plan model.ash --json --device ") + device);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.Json()["device"], "cpu0:0");
  }
  const ProcessResult gpu = Ashlar("run model.ash --device cuda:1");
  EXPECT_EQ(gpu.exit_code, 1);
  EXPECT_THAT(gpu.err, HasSubstr("gpu1:0"));
}

// Returns command lines that report and write no file, and one more.
std::vector<std::string> ReportsAnd(const char* last) {
  return {"run model.ash",
          "bench model.ash --iterations 2 --warmup 0",
          "plan model.ash",
          "inspect model.ash",
          "ops",
          "doctor",
          "profile model.ash",
          "verify model.ash",
          "compare model.ash",
          last};
}

TEST_F(CommandLineTest, ResultsAreOnStdoutAndNothingElse) {
  for (const std::string& arguments : ReportsAnd("zoo squeezenet --image 64 -o s.ash")) {
    SCOPED_TRACE(arguments);
    const ProcessResult text = Ashlar(arguments);
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, Not(IsEmpty()));
    EXPECT_THAT(text.err, IsEmpty());
  }
}

TEST_F(CommandLineTest, EveryDocumentHasTheCommonKeys) {
  for (const std::string& arguments : ReportsAnd("convert model.ash -o copy.ash")) {
    SCOPED_TRACE(arguments);
    const ProcessResult result = Ashlar(arguments + " --json");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json document = result.Json();
    EXPECT_EQ(document["schema_version"], 1);
    EXPECT_EQ(document["command"], arguments.substr(0, arguments.find(' ')));
    EXPECT_EQ(document["device"], "cpu0:0");
    EXPECT_GE(document["threads"], 1);
  }
}

TEST_F(CommandLineTest, JsonMayGoToAFileBesideTheText) {
  const ProcessResult result = Ashlar("inspect model.ash --json=inspect.json");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("operators"));
  EXPECT_EQ(nlohmann::json::parse(Read("inspect.json"))["command"], "inspect");
}

TEST_F(CommandLineTest, BareJsonDoesNotTakeTheModelForItsFile) {
  const ProcessResult result = Ashlar("inspect --json model.ash");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.Json()["command"], "inspect");
}

// Found before the work: the model does not exist, and nobody has looked for it yet.
TEST_F(CommandLineTest, OutputThatCannotBeWrittenIsFoundFirst) {
  for (const char* arguments :
       {"run none.ash -o nowhere/out.npz", "plan none.ash -o nowhere/plan.svg",
        "plan none.ash --tile-info nowhere/t.json", "plan none.ash --frontier -o nowhere/f.svg",
        "profile none.ash --dump nowhere/p.json", "profile none.ash --trace nowhere/t.json",
        "profile none.ash --static-memory-info model.ash/folder",
        "inspect none.json --recorded-plan nowhere/r.svg", "convert none.ash -o nowhere/c.onnx",
        "zoo resnet50 -o nowhere/r.ash", "bench none.ash --json=nowhere/b.json",
        "tune none.ash --json=."}) {
    SCOPED_TRACE(arguments);
    const ProcessResult result = Ashlar(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("cannot write"));
  }
}

// Returns the names of files in the folder in which the command runs.
std::string Listing(const std::string& folder) {
  std::string names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names += entry.path().filename().string() + "\n";
  }
  return names;
}

TEST_F(CommandLineTest, WorkThatFailsLeavesNoFileBehind) {
  EXPECT_EQ(Ashlar("run none.ash -o left.npz --json=why.json").exit_code, 6);
  EXPECT_THAT(Read("why.json"), HasSubstr("none.ash")) << "the document of the error";
  EXPECT_EQ(Ashlar("profile none.ash --dump left.json --static-memory-info left/in").exit_code, 6);
  const std::string listing = Listing(Path("."));
  EXPECT_THAT(listing, HasSubstr("model.ash"));
  EXPECT_THAT(listing, Not(HasSubstr("left")));
  Write("kept.npz", "before");
  EXPECT_EQ(Ashlar("run none.ash -o kept.npz").exit_code, 6);
  EXPECT_EQ(Read("kept.npz"), "before");
}

TEST_F(CommandLineTest, QuietWithAFileForTheResultPrintsNothing) {
  for (const char* arguments :
       {"run model.ash -o q.npz", "plan model.ash -o q.svg", "zoo squeezenet --image 64 -o q.ash",
        "convert model.ash -o q.ash"}) {
    SCOPED_TRACE(arguments);
    EXPECT_THAT(Ashlar(arguments).out, Not(IsEmpty()));
    const ProcessResult quiet = Ashlar(std::string(arguments) + " -q");
    EXPECT_EQ(quiet.exit_code, 0) << quiet.err;
    EXPECT_THAT(quiet.out + quiet.err, IsEmpty());
  }
  EXPECT_THAT(Ashlar("plan model.ash -q").out, HasSubstr("arena")) << "where else would it go";
}

TEST_F(CommandLineTest, OutputThatCannotBeWrittenIsAFailure) {
  EXPECT_EQ(Ashlar("ops >/dev/full").exit_code, 1);
  EXPECT_EQ(Ashlar("ops --json=/dev/full").exit_code, 1);
  EXPECT_EQ(Ashlar("run model.ash -o nowhere/out.npz").exit_code, 1);
  EXPECT_EQ(Ashlar("plan model.ash -o nowhere/plan.svg").exit_code, 1);
  EXPECT_EQ(Ashlar("inspect model.ash --json=nowhere/i.json").exit_code, 1);
}

}  // namespace
}  // namespace ashlar::testing
