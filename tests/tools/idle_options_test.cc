// Options without an effect on a command line.
#include <gmock/gmock.h>

#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using IdleOptionsTest = CommandTest;

// Regression: they were ignored, and users believed that they had an effect.
TEST_F(IdleOptionsTest, AreRefusedBeforeAnyWork) {
  const struct {
    const char *arguments, *message;
  } cases[] = {
      {"convert none.ash -o x.ash --memory-budget min",
       "--memory-budget has no effect: nothing is"},
      {"convert none.ash -o x.ash --exact",
       "--exact has no effect: nothing is planned here without"},
      {"convert none.ash -o x.ash --threads 1", "--threads has no effect: nothing is planned here"},
      {"convert none.onnx -o x.ash --seed 4", "--seed has no effect: none.onnx has weights of its"},
      {"run none.ash --mean 1,2,3", "--mean has no effect: no --input gives a file"},
      {"bench none.ash --scale 1", "--scale has no effect: no --input gives a file"},
      {"verify none.ash --layout nhwc", "--layout has no effect: no --input gives a file"},
      {"run none.ash --allow-tf32", "--allow-tf32 has no effect: cpu0:0 computes in fp32 only"},
      {"run none.ash --labels l.txt --top 0", "--labels has no effect: --top 0 shows no classes"},
      {"plan none.ash --json --format csv", "--format has no effect: --json writes to stdout"},
      {"plan none.csv --threads 2",
       "--threads has no effect: it is for models, and none.csv holds"},
      {"plan - --memory-budget min", "--memory-budget has no effect: it is for models"},
      {"inspect none.ash --dot --json", "--dot has no effect: --json takes stdout"},
      {"inspect none.ash --dot --nodes", "--nodes has no effect: --dot prints the graph"},
      {"inspect none.ash --own-plan x.csv", "--own-plan has no effect: it is for profile dumps"},
      {"inspect none.json --shape data=1x3x4x4", "--shape has no effect: a profile dump is shown"},
      {"compare none.json other.json --atol 1", "--atol has no effect: profile dumps are records"},
      {"compare none.ash --fail-fast", "--fail-fast has no effect: it is for --layers all"},
      {"ops --onnx --device cpu", "--device has no effect: --onnx lists what can be read"},
      {"ops --markdown --json", "--markdown has no effect: --json takes stdout"},
      {"tune none.ash --no-autotune", "--no-autotune has no effect: all kernels are tried"},
  };
  for (const auto& test : cases) {
    const ProcessResult result = Ashlar(test.arguments);
    EXPECT_EQ(result.exit_code, 2) << test.arguments;
    EXPECT_THAT(result.err, HasSubstr(test.message)) << test.arguments;
    EXPECT_EQ(result.out, "") << test.arguments;
  }
}

TEST_F(IdleOptionsTest, AreAcceptedWhereTheyHaveAnEffect) {
  Write("b.csv", "id,lower,upper,size\na,0,2,10\n");
  for (const char* arguments :
       {"convert model.ash -o packed.ash --pack --memory-budget min --plan-time 20ms",
        "convert model.ash -o one.ash --pack --memory-budget min --threads 1 --plan-time 20ms",
        "plan model.ash --json --format csv -o plan.txt", "plan b.csv --align 64 --planner naive",
        "plan model.ash --json=plan.json --format csv", "inspect model.ash --dot --json=i.json",
        "compare model.ash --layers all --fail-fast", "ops --markdown --device cpu"}) {
    const ProcessResult result = Ashlar(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.err;
  }
}

}  // namespace
}  // namespace ashlar::testing
