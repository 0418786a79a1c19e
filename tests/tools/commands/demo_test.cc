// `demo`: its measurements, and the file that it writes.
#include <gmock/gmock.h>

#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using ::testing::StartsWith;
using DemoTest = CommandTest;

// Regression: a page that the user had made of another model was overwritten.
TEST_F(DemoTest, LeavesAPageThatIsThere) {
  const std::string demo = "demo --image 32 --threads 1";
  Write("plan.html", "mine");
  for (const char* written : {"plan-1.html", "plan-2.html"}) {
    const ProcessResult result = Ashlar(demo);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, ::testing::HasSubstr(written));
    EXPECT_THAT(Read(written), StartsWith("<!DOCTYPE html>"));
  }
  EXPECT_EQ(Read("plan.html"), "mine");
  ASSERT_EQ(Ashlar(demo + " -o plan.html").exit_code, 0);  // the user asked for it
  EXPECT_THAT(Read("plan.html"), StartsWith("<!DOCTYPE html>"));
}

}  // namespace
}  // namespace ashlar::testing
