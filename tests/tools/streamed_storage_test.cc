// Weights that are stored in 8 bits, and streamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/random.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/normal_tensor.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

class StreamedStorageTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    ASSERT_EQ(Ashlar("zoo resnet18 --image 64 -o floats.ash").exit_code, 0);
  }
  // Packs a model, streams it in a third of its weights, and compares with all in memory. Returns
  // the bytes that a run reads, and the ones of all weights.
  struct Bytes {
    int64_t read = 0, all = 0;
  };
  static Bytes ExpectStreams(const std::string& model, const std::string& options) {
    SCOPED_TRACE(options);
    Bytes bytes;
    const std::string with = " --threads 1 " + options;
    const ProcessResult packed =
        Ashlar(absl::StrCat("convert ", model, " -o packed.ash --pack ", options));
    EXPECT_EQ(packed.exit_code, 0) << packed.err;
    bytes.all = Ashlar(absl::StrCat("plan packed.ash --json", with))
                    .Json()["pools"]["weights"]["planned_bytes"];
    const std::string budget = absl::StrCat(" --weights-budget ", bytes.all / 3);
    const ProcessResult planned = Ashlar(absl::StrCat("plan packed.ash --json", with, budget));
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    bytes.read = planned.Json()["weights_window"]["read_bytes"];
    EXPECT_EQ(Ashlar(absl::StrCat("run ", model, " -q -o memory.npz", with)).exit_code, 0);
    const ProcessResult run =
        Ashlar(absl::StrCat("run packed.ash -q -o streamed.npz", with, budget));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_TRUE(Read("streamed.npz") == Read("memory.npz")) << "the same bits";
    const ProcessResult verified = Ashlar(absl::StrCat("verify packed.ash", with, budget));
    EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
    return bytes;
  }
};

TEST_F(StreamedStorageTest, EightBitsAreAQuarterOfTheBytes) {
  const Bytes floats = ExpectStreams("floats.ash", "--prefer memory");
  Random random(1);
  ASSERT_TRUE(IsOk(WriteNpz({{"data", NormalTensor(random, {2, 3, 64, 64})}}, Path("data.npz"))));
  ASSERT_EQ(Ashlar("quantize floats.ash --calibrate data.npz -o bytes.ash").exit_code, 0);
  const Bytes quantized = ExpectStreams("bytes.ash", "");
  EXPECT_LT(static_cast<double>(quantized.all), 0.3 * static_cast<double>(floats.all));
  EXPECT_LT(quantized.read, floats.read);
}

}  // namespace
}  // namespace ashlar::testing
