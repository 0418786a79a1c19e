// States between runs in generated C: the self-test, and a stream of inputs beside `ashlar run`.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "opr/assign.h"
#include "opr/concat.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/subtensor.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using F = ScalarFunction;

constexpr char kStrict[] =
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -fsanitize=address,undefined "
    "-fno-sanitize-recover=all";

// Runs the program on a stream of inputs.
constexpr char kStream[] = R"(
#include <stdio.h>
#include "net.h"
static union { long long align; unsigned char bytes[NET_ARENA_BYTES + 1]; } arena;
static union { long long align; unsigned char bytes[NET_STATE_BYTES]; } states;
static float x[NET_INPUT_BYTES / 4], y[NET_OUTPUT_BYTES / 4];
int main(void) {
  if (net_reset(states.bytes + 1) != NET_MISALIGNED || net_reset(NULL) != NET_NULL) return 2;
  if (net_reset(states.bytes) != NET_OK) return 3;
  while (fread(x, sizeof(x), 1, stdin) == 1) {
    if (net_run(arena.bytes, states.bytes, x, y) != NET_OK) return 4;
    fwrite(y, sizeof(y), 1, stdout);
  }
  return net_run(arena.bytes, NULL, x, y) == NET_NULL ? 0 : 5;
}
)";

// A cell h' = tanh(x W + h V), a window of its last three values, a state that takes another one's
// old value, and one that begins with other numbers than zero.
Graph Streaming(std::mt19937_64& random) {
  GraphMaker make;
  const int x = make.Input("x", {1, 5}), h = make.Input("h", {1, 6});
  const int window = make.Input("window", {3, 6});
  const int left = make.Input("left", {1, 6}), right = make.Input("right", {1, 6});
  const int of_x = make.Add<MatrixMul>({}, {x, make.Constant(RandomTensor(random, {5, 6}))});
  const int of_h = make.Add<MatrixMul>({}, {h, make.Constant(RandomTensor(random, {6, 6}))});
  const int next =
      make.Add<Elemwise>({F::kTanh}, {make.Add<Elemwise>({F::kAdd}, {of_x, of_h})}, "next");
  SubtensorParam rows{.axis = {0}, .begin = {1}, .end = {0}, .step = {0}, .idx = {0}};
  const int one = make.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {1}));
  const int kept = make.Add<Subtensor>(rows, {window, one});
  const int moved = make.Add<Concat>({0}, {kept, next}, "moved");
  const int count = make.Add(Operators().MakeState(RandomTensor(random, {1, 6})), {}, "count");
  const int less = make.Add<Elemwise>({F::kMul}, {count, next});
  const int sum = make.Add<Elemwise>({F::kAdd}, {left, less});
  make.Output(make.Add<Elemwise>({F::kMax}, {moved, sum}, "y"));
  make.Output(next);
  make.Output(moved);
  make.Output(make.Add<Elemwise>({F::kAdd}, {left, next}, "more"));
  make.Output(right);
  make.Add<Assign>({}, {less, count}, "count_next");
  return std::move(make).Build();
}

class CompiledStatesTest : public CommandTest {
 protected:
  void SetUp() override {
    if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C compiler";
  }
  // Runs a shell command in the folder of the program.
  static void Shell(const std::string& command) {
    const int code =
        std::system(absl::StrCat("cd ", Path("net"), " && (", command, ") 2> ../log").c_str());
    EXPECT_EQ(code, 0) << Read("log");
  }
};

TEST_F(CompiledStatesTest, FollowTheRuntime) {
  std::mt19937_64 random(7);
  ASSERT_TRUE(IsOk(WriteModel(Streaming(random), Path("stream.ash"))));
  const HostTensor x = RandomTensor(random, {40, 5});
  ASSERT_TRUE(IsOk(WriteNpy(x, Path("x.npy"))));
  std::ofstream(Path("x.bin"), std::ios::binary)
      .write(static_cast<const char*>(x.raw()), x.bytes());
  const std::string states =
      " --state next=h --state moved=window --state more=right --state right=left";
  for (const char* options : {"", " --passes none", " --inplace off"}) {
    SCOPED_TRACE(options);
    // Sanitized programs take seconds to build.
    const std::string flags = options[0] == '\0' ? kStrict : "-std=c99 -O1";
    const ProcessResult run = Ashlar(
        absl::StrCat("run stream.ash", states, " --steps --input x=x.npy --threads 1 -o y.npz"));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const NamedTensors expected = Value(ReadNpz(Path("y.npz")));
    const ProcessResult compiled =
        Ashlar(absl::StrCat("compile stream.ash", states, options, " -o net --name net --json"));
    ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
    EXPECT_EQ(compiled.Json()["ram"]["state_bytes"], 168);
    Shell(absl::StrCat("cc ", flags, " -ffreestanding -DASHLAR_TRACE *.c -o test && ./test >&2"));
    Write("net/stream.txt", kStream);
    Shell(absl::StrCat("cc ", flags,
                       " -x c stream.txt -x none net.c net_weights.c ashlar_kernels.c -o stream && "
                       "./stream < ../x.bin > ../y.bin"));
    HostTensor y = HostTensor::ZerosLike(expected[0].second, expected[0].second.shape());
    std::ifstream file(Path("y.bin"), std::ios::binary);
    ASSERT_TRUE(file.read(static_cast<char*>(y.mutable_raw()), y.bytes()));
    EXPECT_EQ(file.peek(), EOF);
    EXPECT_EQ(expected[0].second.shape(), Shape({40, 3, 6}));
    EXPECT_LE(LargestDifference(y, expected[0].second), 2e-6);
  }
  const std::string header = Read("net/net.h");
  for (const char* said :
       {"int net_reset(void* states);", "#define NET_STATE_WINDOW_OFFSET",
        "int net_run(void* arena, void* states, const void* input, void* output);"}) {
    EXPECT_THAT(header, HasSubstr(said));
  }
}

// Exchanges two states, which the program places itself.
constexpr char kExchange[] = R"(
#include <string.h>
#include "net.h"
static union { long long align; unsigned char bytes[NET_ARENA_BYTES + 1]; } arena;
static union { long long align; unsigned char bytes[NET_STATE_BYTES]; } states;
int main(void) {
  const float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40};
  float y[4];
  int run;
  if (sizeof(y) != NET_OUTPUT_BYTES || net_reset(states.bytes) != NET_OK) return 2;
  memcpy(states.bytes + NET_STATE_A_OFFSET, a, sizeof(a));
  memcpy(states.bytes + NET_STATE_B_OFFSET, b, sizeof(b));
  for (run = 0; run < 6; ++run) {
    if (net_run(arena.bytes, states.bytes, y) != NET_OK) return 3;
    if (y[3] != (run % 2 == 0 ? a[3] - b[3] : b[3] - a[3])) return 10 + run;
  }
  return 0;
}
)";

TEST_F(CompiledStatesTest, MayBeExchanged) {
  GraphMaker make;
  const int a = make.Input("a", {4}), b = make.Input("b", {4});
  make.Output(make.Add<Elemwise>({F::kSub}, {a, b}, "y"));
  make.Output(a);
  make.Output(b);
  ASSERT_TRUE(IsOk(WriteModel(std::move(make).Build(), Path("exchange.ash"))));
  const ProcessResult compiled =
      Ashlar("compile exchange.ash --state a=b --state b=a -o net --name net");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("states 48 B"));  // one of them is held
  Write("net/exchange.txt", kExchange);
  Shell(absl::StrCat("cc ", kStrict, " -x c exchange.txt -x none net.c net_weights.c ",
                     "ashlar_kernels.c -o exchange && ./exchange"));
}

}  // namespace
}  // namespace ashlar::testing
