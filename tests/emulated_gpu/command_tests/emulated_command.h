// The command beside the emulated GPU's library.
#ifndef ASHLAR_TESTS_EMULATED_GPU_COMMAND_TESTS_EMULATED_COMMAND_H_
#define ASHLAR_TESTS_EMULATED_GPU_COMMAND_TESTS_EMULATED_COMMAND_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/command/command_process.h"

namespace ashlar::testing {

// A fixture with a machine of its own for each test, set by tests/emulated_gpu/control.h.
class EmulatedCommandTest : public CommandTest {
 protected:
  static void SetMachine(const std::string& settings) {
    setenv("EMULATED_GPU", settings.c_str(), /*overwrite=*/1);
  }
  void TearDown() override { unsetenv("EMULATED_GPU"); }

  // Expects the command to succeed, without misuse of the libraries.
  static ProcessResult Succeed(const std::string& arguments) {
    SCOPED_TRACE(arguments);
    const ProcessResult result = Ashlar(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
    EXPECT_THAT(result.err, ::testing::Not(::testing::HasSubstr("misuse")));
    return result;
  }
  static std::string State() {
    return Ashlar("doctor --json --quiet").Json()["facts"]["gpu0:0"].get<std::string>();
  }
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_EMULATED_GPU_COMMAND_TESTS_EMULATED_COMMAND_H_
