// Output files that would overwrite other files.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using OutputFilesTest = CommandTest;

// Regression: models were overwritten by their own plans and dumps, with exit code 0.
TEST_F(OutputFilesTest, AreNeitherInputsNorEachOther) {
  const std::string model = Read("model.ash");
  std::filesystem::create_symlink("model.ash", Path("link.ash"));
  const struct {
    const char *command, *message;
  } cases[] = {
      {"profile model.ash --dump model.ash", "model.ash is read"},
      {"plan model.ash --json=model.ash", "model.ash is read"},
      {"plan model.ash --format csv -o ./model.ash", "model.ash is read"},
      {"plan link.ash --format csv -o model.ash", "model.ash is read"},
      {"convert model.ash -o model.ash", "model.ash is read"},
      {"run model.ash --input data=x.npy --output x.npy", "x.npy"},
      {"profile model.ash --dump x --trace x", "x would be written twice"},
      {"plan model.ash -o new.csv --json=./new.csv", "new.csv would be written twice"},
  };
  Write("x.npy", "no array");
  for (const auto& test : cases) {
    const ProcessResult result = Ashlar(test.command);
    EXPECT_EQ(result.exit_code, 2) << test.command;
    EXPECT_THAT(result.err, HasSubstr(test.message)) << test.command;
    EXPECT_TRUE(Read("model.ash") == model) << test.command;
  }
  EXPECT_EQ(Ashlar("plan model.ash --format csv -o /dev/null --json=/dev/null").exit_code, 0);
}

}  // namespace
}  // namespace ashlar::testing
