// Results whose size depends on data, and bounds for them, in the command.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// Returns a field of bytes in protobuf's format.
std::string Field(int number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  for (size_t size = bytes.size(); true; size >>= 7) {
    field.push_back(static_cast<char>(size < 0x80 ? size : size | 0x80));
    if (size < 0x80) return field + bytes;
  }
}

std::string Number(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

class CountedCommandTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    const std::string node =
        Field(1, "x") + Field(2, "y") + Field(3, "places") + Field(4, "NonZero");
    const std::string floats = Number(1, 1) + Field(2, Field(1, Number(1, 6)));
    const std::string input = Field(1, "x") + Field(2, Field(1, floats));
    Write("places.onnx", Number(1, 8) + Field(8, Number(2, 17)) +
                             Field(7, Field(1, node) + Field(2, "g") + Field(11, input) +
                                          Field(12, Field(1, "y"))));
    for (int found = 0; found <= 3; ++found) {
      HostTensor x = HostTensor::Zeros(DType::kFloat32, {6});
      for (int i = 0; i < found; ++i) x.Set(2 * i, 1);
      ASSERT_TRUE(IsOk(WriteNpy(x, Path(absl::StrCat("x", found, ".npy")))));
    }
  }
  static std::string Run(const std::string& options, int found) {
    return absl::StrCat("run places.onnx ", options, " --input x=x", found, ".npy -o y.npz");
  }
};

TEST_F(CountedCommandTest, ResultsHaveAsManyPlacesAsWereFound) {
  for (const char* options : {"", "--bound y=2", "--bound places=2"}) {
    for (int found = 0; found <= 2; ++found) {
      const ProcessResult result = Ashlar(Run(options, found));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      const NamedTensors outputs = Value(ReadNpz(Path("y.npz")));
      EXPECT_EQ(outputs[0].first, "y");
      ASSERT_EQ(outputs[0].second.shape(), (Shape{1, found}));
      for (int i = 0; i < found; ++i) EXPECT_EQ(outputs[0].second.IntegerAt(i), 2 * i);
    }
  }
}

TEST_F(CountedCommandTest, MoreThanTheBoundIsAnErrorThatNamesIt) {
  ExpectEndings("", {{Run("--bound y=2", 3), 1, "more than the 2 that are planned for (--bound)"},
                     {Run("--bound y=2", 3), 1, "places"},
                     {Run("--bound y=0", 1), 1, "more than the 0 that are planned for (--bound)"},
                     {Run("--bound nobody=2", 0), 2, "'nobody'"},
                     {Run("--bound y=some", 0), 2, "--bound y=some"},
                     {Run("--bound y=-1", 0), 2, "--bound y=-1"}});
  EXPECT_EQ(Ashlar(Run("", 3)).exit_code, 0) << "all elements are planned for";
}

TEST_F(CountedCommandTest, VerifyMeasuresThem) {
  for (const char* options : {"", "--bound y=2"}) {
    const ProcessResult result =
        Ashlar(absl::StrCat("verify places.onnx ", options, " --input x=x2.npy --json"));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.Json()["heap"]["own_calls"], 0);
  }
}

}  // namespace
}  // namespace ashlar::testing
