// Families of shapes whose weights are streamed: all points through one window.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

class StreamedFamilyTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    ASSERT_EQ(Ashlar("zoo resnet18 --image 64 -o whole.ash").exit_code, 0);
    ASSERT_EQ(Ashlar(absl::StrCat("convert whole.ash -o packed.ash --pack", kBudget)).exit_code, 0);
  }
  static constexpr char kBudget[] = " --weights-budget 2MiB";
  static constexpr char kShape[] = " --shape 'data={1,3}x3x64x{64,96}'";
};

TEST_F(StreamedFamilyTest, AllPointsShareOneWindow) {
  const ProcessResult planned = Ashlar(absl::StrCat("plan packed.ash --json", kShape, kBudget));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const nlohmann::json family = planned.Json()["family"];
  ASSERT_EQ(family["points"].size(), 4);
  int64_t most = 0, apart = 0;
  for (const nlohmann::json& point : family["points"]) {
    const int64_t bytes = point["weights_bytes"];
    EXPECT_LE(bytes, 2 << 20);
    most = std::max(most, bytes);
    apart += bytes;
  }
  EXPECT_EQ(family["weights_bytes"], most);
  EXPECT_EQ(family["weights_apart_bytes"], apart);
}

// The values of each point are the untiled model's; runs of all points in random order have them,
// too, without calls of the heap.
TEST_F(StreamedFamilyTest, PointsTakeTurns) {
  const ProcessResult verified = Ashlar(
      absl::StrCat("verify packed.ash --json --threads 1 --shape 'data={1,3}x3x64x64'", kBudget));
  ASSERT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  const nlohmann::json family = verified.Json()["family"];
  EXPECT_EQ(family["switching"]["differing"], 0);
  EXPECT_EQ(family["switching"]["own_calls"], 0);
  for (const nlohmann::json& point : family["points"]) {
    EXPECT_LE(point["weights"]["actual_bytes"], point["weights"]["planned_bytes"]);
    EXPECT_EQ(point["weights"]["method"], "highest byte changed in a patterned window");
  }
}

TEST_F(StreamedFamilyTest, OneShapeOfAPackedFileIsStreamed) {
  const std::string shape = " --shape data=2x3x64x96 -q -o ";
  ASSERT_EQ(Ashlar(absl::StrCat("run packed.ash", kBudget, shape, "streamed.npz")).exit_code, 0);
  const ProcessResult same = Ashlar("compare whole.ash --shape data=2x3x64x96 --ref streamed.npz");
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

}  // namespace
}  // namespace ashlar::testing
