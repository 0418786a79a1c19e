// Runs the command as a process in a temporary folder.
#ifndef ASHLAR_TESTS_SUPPORT_COMMAND_COMMAND_PROCESS_H_
#define ASHLAR_TESTS_SUPPORT_COMMAND_COMMAND_PROCESS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::testing {

struct ProcessResult {
  int exit_code = -1;
  std::string out, err;
  // Returns stdout as one JSON document.
  nlohmann::json Json() const { return nlohmann::json::parse(out); }
};

// Sets an environment variable, also for the commands, and restores it afterwards.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value);
  ~ScopedVariable();

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

// An option for commands that search for tiles, in tests that do not need the smallest plan.
inline constexpr char kQuick[] = " --plan-time 20ms";

// The expected end of a command: its exit code, and a part of its message on stderr.
struct Ending {
  std::string arguments;
  int exit_code;
  std::string message;
};

// A fixture with a temporary folder that holds "model.ash" (SmallModel with a batch of 2).
class CommandTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  // Runs `ashlar ARGUMENTS` in the folder, through the shell.
  static ProcessResult Ashlar(const std::string& arguments);
  // Runs a copy of the command that has no other file beside it.
  static ProcessResult AshlarAlone(const std::string& arguments);
  // Runs it with the address space limited to so many bytes.
  static ProcessResult AshlarWithin(int64_t bytes, const std::string& arguments);
  // Runs `ashlar ARGUMENTS` and sends it SIGINT `delay_ms` after it has installed a handler, or
  // after a minute without one.
  static ProcessResult AshlarInterrupted(const std::string& arguments, int delay_ms);
  // Runs it and kills it (SIGKILL) after that time. Returns whether it was still running.
  static bool AshlarKilled(const std::string& arguments, double seconds);
  // Runs `ashlar COMMAND ARGUMENTS` for each; `command` ends with a blank.
  static void ExpectEndings(const std::string& command, const std::vector<Ending>& endings);
  // The same for usage errors, each with a part of its message.
  static void ExpectUsageErrors(const std::string& command,
                                const std::vector<std::pair<std::string, std::string>>& errors);
  // Expects `compare MODEL --layers all` to fail with zero tolerance because of rounding: exit code
  // 5, and a document that names the first layer that differs.
  static void ExpectStrictLayersDiffer(const std::string& model);
  static std::string Path(const std::string& name);
  static std::string Read(const std::string& name);
  static void Write(const std::string& name, const std::string& text);

 private:
  // `before`: a shell command that ends in ';'.
  static ProcessResult Execute(const std::string& program, const std::string& arguments,
                               const std::string& before = "");
  static ProcessResult ResultOf(int status);
  static std::string folder_;
};

// Expects these fields in each of a document's pools.
void ExpectPools(const nlohmann::json& pools, const std::vector<const char*>& fields);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_COMMAND_COMMAND_PROCESS_H_
