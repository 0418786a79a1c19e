// ashlar compile: its programs, built by this machine's C compiler and by other installed ones.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/random.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/normal_tensor.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Every warning is an error; every wrong access and undefined operation ends the test.
constexpr char kStrict[] =
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -ffreestanding -O1 "
    "-fsanitize=address,undefined -fno-sanitize-recover=all";

class CompileCommandTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    Random random(1);
    ASSERT_TRUE(IsOk(WriteNpz({{"data", NormalTensor(random, {5, 3, 16, 16})}}, Path("data.npz"))));
    ASSERT_EQ(Ashlar("quantize model.ash --calibrate data.npz -o int8.ash").exit_code, 0);
  }
  void SetUp() override {
    if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  }

  // Runs a shell command in the test's folder; its output is in "log".
  static int Shell(const std::string& command) {
    return std::system(absl::StrCat("cd ", Path("."), " && (", command, ") > log 2>&1").c_str());
  }
  // Compiles a model into a folder.
  static void Compile(const std::string& arguments, const std::string& folder) {
    const ProcessResult result =
        Ashlar(absl::StrCat("compile ", arguments, kQuick, " --name net -o ", folder));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  // Builds the program of a folder and runs its self-test, traced step by step.
  static void ExpectPasses(const std::string& folder) {
    EXPECT_EQ(Shell(absl::StrCat("cd ", folder, " && cc ", kStrict,
                                 " -DASHLAR_TRACE *.c -o test && ./test")),
              0)
        << Read("log");
  }
};

TEST_F(CompileCommandTest, ProgramsPassTheirTest) {
  int number = 0;
  for (const char* const options : {"", "--tile none --passes none", "--release-input",
                                    "--inplace off", "--align 64", "--scheduler megengine"}) {
    SCOPED_TRACE(options);
    const std::string folder = absl::StrCat("program", number++);
    Compile(absl::StrCat("int8.ash ", options), folder);
    ExpectPasses(folder);
  }
}

// The same for floats.
TEST_F(CompileCommandTest, ProgramsOfFloatsPassTheirTest) {
  ASSERT_EQ(Ashlar("zoo tiling_chain -o chain.ash").exit_code, 0);
  int number = 0;
  for (const char* const arguments :
       {"model.ash", "model.ash --tile none --passes fold_scale", "model.ash --release-input",
        "model.ash --memory-budget min", "chain.ash --memory-budget min"}) {
    SCOPED_TRACE(arguments);
    const std::string folder = absl::StrCat("floats", number++);
    Compile(arguments, folder);
    ExpectPasses(folder);
  }
}

struct Net {
  const char *name, *options;
};

class CompiledNets : public CompileCommandTest, public ::testing::WithParamInterface<Net> {};

INSTANTIATE_TEST_SUITE_P(
    Models, CompiledNets,
    ::testing::Values(Net{"tiny/ad", ""}, Net{"tiny/ic", ""}, Net{"tiny/ic", "--memory-budget min"},
                      Net{"tiny/kws", ""}, Net{"tiny/kws", "--memory-budget min --release-input"},
                      Net{"tiny/vww", ""}, Net{"tiny/vww", "--memory-budget 32KiB --release-input"},
                      Net{"digits/digits.u8", ""}, Net{"digits/digits.u8", "--memory-budget min"},
                      Net{"digits/digits.s8", ""}),
    [](const auto& net) {
      std::string name = absl::StrCat(net.param.name, net.param.options);
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

TEST_P(CompiledNets, HaveTheBitsOfTheDesktop) {
  const std::string file = absl::StrCat("data/int8/", GetParam().name, ".onnx");
  if (!HasSharedData(file)) GTEST_SKIP() << "no ../shared/data/int8";
  const std::string model = SharedData(file);
  const ProcessResult result = Ashlar(
      absl::StrCat("compile ", model, " ", GetParam().options, kQuick, " --name net -o net"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err + result.out, HasSubstr("to the bit"));
  ExpectPasses("net");
}

TEST_F(CompileCommandTest, OperatorsOfEightBitsHaveTheBitsOfTheDesktop) {
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/int8/nodes"))) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename());
    Compile(entry.path(), "node");
    ExpectPasses("node");
  }
}

// Programs have no heap, and no library except the functions that compilers call by themselves.
TEST_F(CompileCommandTest, ProgramsCallNoLibrary) {
  Compile("int8.ash", "program");
  ASSERT_EQ(Shell("cd program && cc -std=c99 -ffreestanding -Os -c net.c net_weights.c "
                  "ashlar_kernels.c && nm -u *.o"),
            0)
      << Read("log");
  for (const char* const symbol :
       {"alloc", "free", "setjmp", "printf", "locale", "exp", "nearby"}) {
    EXPECT_THAT(Read("log"), Not(HasSubstr(symbol)));
  }
}

// The self-test finds a fault of a kernel, and the trace names a tensor that is wrong.
TEST_F(CompileCommandTest, WrongKernelsFailTheirTest) {
  const std::string model = SharedData("data/int8/digits/digits.u8.onnx");
  ASSERT_EQ(Ashlar("compile " + model + kQuick + " --name net -o net").exit_code, 0);
  const std::string kernels = Read("net/ashlar_kernels.c");
  const struct {
    const char *fault, *right, *wrong;
  } kFaults[] = {
      {"rounds halves up", "(int32_t)((steps + 12582912.0f) - 12582912.0f)",
       "(int32_t)(steps + 4096.5f) - 4096"},
      {"weights of another channel", "s3 += input * w[12 + i]", "s3 += input * w[8 + i]"},
      {"one column of a window less", "for (x = t->columns; x > 0", "for (x = t->columns; x > 1"},
  };
  for (const auto& [fault, right, wrong] : kFaults) {
    SCOPED_TRACE(fault);
    ASSERT_THAT(kernels, HasSubstr(right));
    Write("net/ashlar_kernels.c", absl::StrReplaceAll(kernels, {{right, wrong}}));
    ASSERT_EQ(Shell("cd net && cc -std=c99 -DASHLAR_TRACE *.c -o test"), 0) << Read("log");
    EXPECT_NE(Shell("cd net && ./test"), 0);
    EXPECT_THAT(Read("log"), HasSubstr("net: FAILED"));
    EXPECT_THAT(Read("log"), HasSubstr(", expected "));
  }
  Write("net/ashlar_kernels.c", kernels);
  ExpectPasses("net");
}

// A target that would give other results does not compile.
TEST_F(CompileCommandTest, WrongTargetsDoNotCompile) {
  Compile("int8.ash", "program");
  const std::pair<const char*, const char*> kTargets[] = {
      {"-U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__", "little endian"},
      {"-U__INT_MAX__ -D__INT_MAX__=32767", "int of 32 bits"},
      {"-U__CHAR_BIT__ -D__CHAR_BIT__=16", "bytes of 8 bits"},
      {"-ffast-math", "without -ffast-math"},
  };
  for (const auto& [options, message] : kTargets) {
    EXPECT_NE(Shell(absl::StrCat("cd program && cc -std=c99 -ffreestanding ", options,
                                 " -c ashlar_kernels.c")),
              0)
        << options;
    EXPECT_THAT(Read("log"), HasSubstr(message)) << options;
  }
  Write("program/small.c",
        "#include \"net.h\"\nstatic char memory[NET_ARENA_BYTES - 1];\n"
        "NET_REQUIRE_ARENA(memory);\nint main(void) { return memory[0]; }\n");
  EXPECT_NE(Shell("cd program && cc -std=c99 -c small.c"), 0);
  EXPECT_THAT(Read("log"), HasSubstr("arena_is_large_enough"));
}

TEST_F(CompileCommandTest, RefusesWhatIsNoProgram) {
  ExpectUsageErrors("compile ", {{"int8.ash -o out --name 1st", "expected a letter"},
                                 {"int8.ash -o out --align 4", "expected at least 8"},
                                 {"int8.ash -o out --align 2 --processor cortex-m4", "least 4"},
                                 {"int8.ash -o out --processor avx2/32K/1M",
                                  "for mcu0:0 it is one of generic, cortex-m4"},
                                 {"int8.ash -o out --total-budget 1MiB", "--memory-budget"},
                                 {"int8.ash", "--output"}});
}

TEST_F(CompileCommandTest, RefusesABudgetThatIsTooSmall) {
  const std::string model = SharedData("data/int8/nodes/conv_3x3_s8.onnx");
  ExpectEndings("compile ", {{model + " --memory-budget 100 -o out", 3, "bytes"}});
  EXPECT_FALSE(std::filesystem::exists(Path("out")));
}

TEST_F(CompileCommandTest, ListsAllOperatorsWithoutAFunction) {
  ASSERT_EQ(Ashlar("zoo inception_v1 --image 64 -o inception.ash").exit_code, 0);
  ExpectEndings("compile ",
                {{"inception.ash -o out", 1, "pool1/norm1 (LRN, 17)"},
                 {"inception.ash -o out", 1, "; conv2/norm2 (LRN, 41): no kernel on mcu0:0"}});
}

TEST_F(CompileCommandTest, FloatsAreTheDesktopsToRounding) {
  for (const char* const options : {"", "--memory-budget min"}) {
    const std::string model = SharedData("data/int8/digits/digits.onnx");
    const nlohmann::json document = Ashlar(absl::StrCat("compile ", model, " ", options, kQuick,
                                                        " -o digits --name net --json"))
                                        .Json();
    EXPECT_LT(document["max_rel_error"].get<double>(), 2e-6);
    EXPECT_THAT(document["kernels"].dump(), HasSubstr("depthwise"));
    ExpectPasses("digits");
  }
}

// Tiles repeat calls with other offsets: then the program has each once, and a table.
TEST_F(CompileCommandTest, RepeatedCallsAreATable) {
  const std::string model = SharedData("data/int8/digits/digits.u8.onnx");
  const auto compile = [&](const char* options) {
    return Ashlar(absl::StrCat("compile ", model, options, kQuick, " --name net -o net --json"))
        .Json();
  };
  const auto count_calls = [] {
    const std::vector<std::string> parts = absl::StrSplit(Read("net/net.c"), " ashlar_conv8(");
    return static_cast<int>(parts.size()) - 1;
  };
  const nlohmann::json whole = compile("");
  const int layers = count_calls();
  EXPECT_EQ(whole["flash"]["order_bytes"], 0);
  const nlohmann::json tiled = compile(" --memory-budget min");
  EXPECT_GT(tiled["calls"].get<int>(), 2 * whole["calls"].get<int>());
  // Each of three strips multiplies its own rows of the classifier's weights.
  EXPECT_LE(count_calls(), layers + 2);
  // A row is a case, the index of a shape, and up to three offsets.
  EXPECT_GT(tiled["flash"]["order_bytes"].get<int>(), tiled["calls"].get<int>() * 2 * 3);
  EXPECT_LE(tiled["flash"]["order_bytes"].get<int>(), tiled["calls"].get<int>() * 2 * 5);
  ExpectPasses("net");
}

// A processor decides the alignment of the arena and the expected instructions. Their kernels have
// no workspace, and no tensor is in blocks of channels.
TEST_F(CompileCommandTest, PlansForAMicrocontroller) {
  std::map<std::string, double> instructions;
  for (const auto& [processor, alignment] : std::map<std::string, int>{
           {"generic", 8}, {"cortex-m4", 4}, {"cortex-m7", 8}, {"cortex-m55", 8}, {"rv32imc", 4}}) {
    SCOPED_TRACE(processor);
    const std::string options = " --processor " + processor;
    Compile("int8.ash" + options, processor);
    EXPECT_THAT(Read(processor + "/net.h"),
                HasSubstr(absl::StrCat("NET_ARENA_ALIGNMENT ", alignment, "\n")));
    ExpectPasses(processor);
    const ProcessResult plan = Ashlar("plan int8.ash --device mcu0:0 --json --buffers" + options);
    const nlohmann::json document = plan.Json();
    EXPECT_EQ(document["processor"], processor);
    EXPECT_TRUE(document["workspaces"].empty());
    EXPECT_THAT(document.dump(), Not(HasSubstr("16c")));
    instructions[processor] = document["expected_instructions"].get<double>();
    EXPECT_THAT(Ashlar("plan int8.ash --device mcu0:0" + options).out,
                HasSubstr(absl::StrCat("instructions on ", processor, ", by a table")));
  }
  EXPECT_LT(instructions["cortex-m55"], instructions["cortex-m7"]);
  EXPECT_EQ(instructions["cortex-m7"], instructions["cortex-m4"]);
  EXPECT_LT(instructions["cortex-m4"], instructions["generic"]);
  EXPECT_LT(instructions["generic"], instructions["rv32imc"]);
  ExpectUsageErrors("plan ", {{"int8.ash --processor cortex-m7", "microcontrollers are device"}});
}

// $ASHLAR_PROCESSOR is a desktop's.
TEST_F(CompileCommandTest, IgnoresTheProcessorOfTheEnvironment) {
  const ScopedVariable desktop("ASHLAR_PROCESSOR", "avx2/32K/1M");
  EXPECT_EQ(Ashlar("plan int8.ash --device mcu0:0 --json").Json()["processor"], "generic");
}

TEST_F(CompileCommandTest, ReportsWhatItWrote) {
  const nlohmann::json document = Ashlar("compile int8.ash -o program --name net --json").Json();
  EXPECT_EQ(document["name"], "net");
  EXPECT_EQ(document["ram"]["input_bytes"], 2 * 3 * 16 * 16 * 4);
  EXPECT_GT(document["flash"]["weights_bytes"], 1000);
  for (const nlohmann::json& file : document["files"]) {
    EXPECT_TRUE(std::filesystem::exists(Path("program/" + file.get<std::string>()))) << file;
  }
  EXPECT_THAT(Read("program/net.h"), HasSubstr("#define NET_ARENA_BYTES"));
}

}  // namespace
}  // namespace ashlar::testing
