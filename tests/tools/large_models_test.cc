// Models larger than memory: converted between files, packed and inspected in a control group that
// could not hold their weights.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/command/memory_group.h"
#include "tests/support/environment.h"
#include "tests/support/sanitized.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// ResNet-18 has 46.7 MB of weights, and 9.4 MB in its largest layer.
constexpr int64_t kLimit = 40 << 20;

class LargeModelTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    ASSERT_EQ(Ashlar("zoo resnet18 --image 64 -o large.ash").exit_code, 0);
    ASSERT_EQ(Ashlar("convert large.ash -o large.onnx").exit_code, 0);
    ASSERT_GT(std::filesystem::file_size(Path("large.onnx")), kLimit);
  }
  // Runs a command inside of the group and outside, and expects files of the same bytes.
  static void ExpectSameFile(const std::string& before, const std::string& ending,
                             const std::string& after = "") {
    const std::string inside = "inside" + ending, outside = "outside" + ending;
    const ProcessResult free = Ashlar(absl::StrCat(before, " -o ", outside, " -q ", after));
    ASSERT_EQ(free.exit_code, 0) << free.err;
    const MemoryGroup group(kLimit);
    if (!group) GTEST_SKIP() << "no memory control group can be made here";
    ASSERT_TRUE(AshlarInside(group, Path(""), absl::StrCat(before, " -o ", inside, " -q ", after)));
    EXPECT_TRUE(Read(inside) == Read(outside));
  }
};

TEST_F(LargeModelTest, IsConvertedFromOnnx) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has the memory";
  ExpectSameFile("convert large.onnx", ".ash");
}

TEST_F(LargeModelTest, IsConvertedToOnnx) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has the memory";
  ExpectSameFile("convert large.ash", ".onnx");
  EXPECT_TRUE(Read("outside.onnx") == Read("large.onnx"));
}

TEST_F(LargeModelTest, IsConvertedFromOnnxToOnnx) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has the memory";
  ExpectSameFile("convert large.onnx", ".onnx");
}

TEST_F(LargeModelTest, IsPackedFromOnnx) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has the memory";
  ExpectSameFile("convert large.onnx", ".ash", "--pack");
}

TEST_F(LargeModelTest, IsInspectedAndPlanned) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has the memory";
  const MemoryGroup group(kLimit);
  if (!group) GTEST_SKIP() << "no memory control group can be made here";
  for (const char* command :
       {"inspect large.onnx", "inspect large.onnx --nodes", "inspect large.ash --check",
        "plan large.onnx", "plan large.ash", "inspect large.onnx --onnx runs.onnx"}) {
    EXPECT_TRUE(AshlarInside(group, Path(""), absl::StrCat(command, " > /dev/null"))) << command;
  }
}

// Packed weights of the runs lie in a file without a name beside the output.
TEST_F(LargeModelTest, IsQuantised) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has the memory";
  std::mt19937_64 random(3);
  ASSERT_TRUE(WriteNpz({{"data", RandomTensor(random, {2, 3, 64, 64})}}, Path("data.npz")).ok());
  ExpectSameFile("quantize large.onnx --calibrate data.npz --bias-correction", ".onnx");
  if (!LongTests()) return;
  ExpectSameFile("quantize large.ash --calibrate data.npz", ".onnx");
  ExpectSameFile("quantize large.onnx --calibrate data.npz", ".ash");
}

}  // namespace
}  // namespace ashlar::testing
