// plan, run, bench and verify for families of shapes.
#include <gmock/gmock.h>

#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class FamilyCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    std::mt19937_64 random(5);
    ConvolutionParam param;
    param.pad_h = param.pad_w = 1;
    GraphMaker maker;
    const int x = maker.Input("x", {1, 3, 8, 8});
    int y = maker.Add<ConvolutionForward>(
        param, {x, maker.Constant(RandomTensor(random, {4, 3, 3, 3}))}, "first");
    y = maker.Add<Elemwise>({ScalarFunction::kRelu}, {y}, "relu");
    maker.Output(maker.Add<ConvolutionForward>(
        param, {y, maker.Constant(RandomTensor(random, {2, 4, 3, 3}))}, "y"));
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("sizes.ash"))));
  }
};

TEST_F(FamilyCommandTest, PlanShowsEachPointAndAllTogether) {
  const ProcessResult result =
      Ashlar("plan sizes.ash --threads 1 --shape x=1..2x3x{8,12}x8 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json family = result.Json()["family"];
  ASSERT_EQ(family["points"].size(), 4u);
  EXPECT_EQ(family["points"][1]["shapes"]["x"], json({1, 3, 12, 8}));
  int64_t largest = 0;
  for (const json& point : family["points"]) {
    const json shape = point["shapes"]["x"];
    const std::string alone =
        absl::StrCat("plan sizes.ash --threads 1 --json --shape x=", shape[0].get<int>(), "x3x",
                     shape[2].get<int>(), "x8");
    EXPECT_EQ(Ashlar(alone).Json()["arena_bytes"], point["arena_bytes"]);
    largest = std::max(largest, point["arena_bytes"].get<int64_t>());
  }
  EXPECT_EQ(family["arena_bytes"], largest);
  EXPECT_LT(family["weights_bytes"], family["weights_apart_bytes"]);
  EXPECT_THAT(Ashlar("plan sizes.ash --shape x=1..2x3x{8,12}x8").out,
              HasSubstr("4 points in one arena of"));
}

TEST_F(FamilyCommandTest, AnArrayChoosesThePoint) {
  std::mt19937_64 random(1);
  const HostTensor x = RandomTensor(random, {2, 3, 12, 8});
  ASSERT_TRUE(IsOk(WriteNpy(x, Path("x.npy"))));
  const std::string family = " --shape x=1..2x3x{8,12}x8 ";
  ASSERT_EQ(Ashlar("run sizes.ash --input x.npy -o of_family.npz" + family).exit_code, 0);
  ASSERT_EQ(Ashlar("run sizes.ash --input x.npy -o alone.npz --shape x=2x3x12x8").exit_code, 0);
  const NamedTensors of_family = Value(ReadNpz(Path("of_family.npz")));
  const NamedTensors alone = Value(ReadNpz(Path("alone.npz")));
  EXPECT_EQ(of_family[0].second.shape(), (Shape{2, 2, 12, 8}));
  EXPECT_EQ(Values(of_family[0].second), Values(alone[0].second));
  const ProcessResult bench =
      Ashlar("bench sizes.ash --input x=x.npy --iterations 1 --warmup 0" + family);
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_THAT(bench.err, HasSubstr("point 4 of 4: x=2x3x12x8"));

  ASSERT_TRUE(IsOk(WriteNpy(RandomTensor(random, {2, 3, 9, 8}), Path("other.npy"))));
  const ProcessResult other = Ashlar("run sizes.ash --input other.npy" + family);
  EXPECT_EQ(other.exit_code, 6);
  EXPECT_THAT(other.err, HasSubstr("x=2x3x9x8 is not declared; declared: x=1..2x3x{8,12}x8"));
}

// Regression: arrays were compared with the shapes that the model has without these options, and
// no array was declared.
TEST_F(FamilyCommandTest, AnArrayChoosesThePointOfConvertedInputs) {
  std::mt19937_64 random(2);
  const auto bytes = [&](const Shape& shape) { return AnyIntegers(random, DType::kUint8, shape); };
  struct {
    const char* options;
    HostTensor x;
    const char* point;
  } const cases[] = {
      {"--input-layout nhwc", RandomTensor(random, {2, 12, 8, 3}), "2x3x12x8"},
      {"--layout nhwc", RandomTensor(random, {2, 12, 8, 3}), "2x3x12x8"},
      {"--pixels rgb", bytes({1, 12, 8, 3}), "1x3x12x8"},
      {"--pixels x=rgb --input-layout nhwc", bytes({2, 8, 8, 3}), "2x3x8x8"},
      {"--pixels nv12", bytes({1, 18, 8}), "1x3x12x8"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.options);
    ASSERT_TRUE(IsOk(WriteNpy(one.x, Path("x.npy"))));
    const std::string run = absl::StrCat("run sizes.ash --input x.npy ", one.options);
    const ProcessResult chosen = Ashlar(run + " -o of_family.npz --shape x=1..2x3x{8,12}x8");
    ASSERT_EQ(chosen.exit_code, 0) << chosen.err;
    EXPECT_THAT(chosen.err, HasSubstr(absl::StrCat(" of 4: x=", one.point)));
    ASSERT_EQ(Ashlar(absl::StrCat(run, " -o alone.npz --shape x=", one.point)).exit_code, 0);
    EXPECT_EQ(Values(Value(ReadNpz(Path("of_family.npz")))[0].second),
              Values(Value(ReadNpz(Path("alone.npz")))[0].second));
  }
  // Pictures of one size say nothing about the size of the input.
  ASSERT_TRUE(IsOk(WriteNpy(bytes({2, 16, 20, 3}), Path("x.npy"))));
  const std::string pictures = "run sizes.ash --input x.npy --pixels 16x20,rgb --shape ";
  EXPECT_EQ(Ashlar(pictures + "x=1..2x3x8x8").exit_code, 0);
  const ProcessResult open = Ashlar(pictures + "x=1..2x3x{8,12}x8");
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.err, HasSubstr("--pixels says the size of the pictures for x"));
}

// Regression: the budget of the first point that did not fit was named, which was too little for
// others.
TEST_F(FamilyCommandTest, TheBudgetThatIsNamedSufficesForAllPoints) {
  const std::string plan = "plan sizes.ash --threads 1 --shape x=1..2x3x{8,40}x8 --memory-budget ";
  const ProcessResult refused = Ashlar(plan + "64");
  ASSERT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("x=2x3x40x8: "));
  const char kBefore[] = "the smallest that was found takes ";
  const size_t at = refused.err.find(kBefore);
  ASSERT_NE(at, std::string::npos) << refused.err;
  const int64_t least = std::stoll(refused.err.substr(at + sizeof(kBefore) - 1));
  EXPECT_EQ(Ashlar(absl::StrCat(plan, least)).exit_code, 0);
  EXPECT_EQ(Ashlar(absl::StrCat(plan, least - 1)).exit_code, 3);
}

TEST_F(FamilyCommandTest, VerifyMeasuresEachPointAndSwitching) {
  const ProcessResult result =
      Ashlar("verify sizes.ash --threads 1 --shape x={1,3}x3x{8,11}x8 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  EXPECT_EQ(document["ok"], true);
  ASSERT_EQ(document["family"]["points"].size(), 4u);
  for (const json& point : document["family"]["points"]) {
    EXPECT_EQ(point["arena"]["planned_bytes"], point["arena"]["actual_bytes"]);
    EXPECT_EQ(point["values"]["ok"], true);
    EXPECT_EQ(point["own_calls"], 0);
  }
  EXPECT_EQ(document["family"]["switching"]["runs"], 12);
  EXPECT_EQ(document["family"]["switching"]["own_calls"], 0);
  EXPECT_EQ(document["family"]["switching"]["differing"], 0);
}

TEST_F(FamilyCommandTest, ConflictsAndFamiliesWithoutMembersAreRefused) {
  for (const auto& [arguments, told] : std::vector<std::pair<std::string, std::string>>{
           {"plan sizes.ash --shape x=8..1x3x8x8", "8..1 has no members"},
           {"plan sizes.ash --shape x=1x3x{}x8", "{} has no members"},
           {"verify sizes.ash --shape x=1..33x3x1..32x8", "1056 points"},
           {"plan sizes.ash --shape x=1..2x3x8x8 -o x.svg", "--output is about one plan"},
           {"plan sizes.ash --shape x=1..2x3x8x8 --total-budget 100MB",
            "--total-budget limits one"},
           {"run sizes.ash --shape x=1..2x3x8x8 --plan x.plan", "--plan is a plan of one shape"},
           {"compare sizes.ash --shape x=1..2x3x8x8 --device-b cpu0:0", "take families of shapes"},
           {"plan sizes.ash --shape x=1x{3,4}x8x8", "x=1x4x8x8"}}) {
    const ProcessResult result = Ashlar(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(told)) << arguments;
  }
}

}  // namespace
}  // namespace ashlar::testing
