// The command, run as a process in a folder of its own.
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
  // stdout as one JSON document.
  nlohmann::json Json() const { return nlohmann::json::parse(out); }
};

// Sets a variable of the environment, for the commands too, and puts it back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value);
  ~ScopedVariable();

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

// For commands that search for tiles: where it is not about the last bytes, the plans of all that
// is found need not be the best.
inline constexpr char kQuick[] = " --plan-time 20ms";

// How a command is to end: its exit code, and a part of what it says on stderr.
struct Ending {
  std::string arguments;
  int exit_code;
  std::string message;
};

// A temporary folder that holds "model.ash" (SmallModel with a batch of 2).
class CommandTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  // Runs `ashlar ARGUMENTS` in the folder, through the shell.
  static ProcessResult Ashlar(const std::string& arguments);
  // The same with a copy of the command that has no other file beside it.
  static ProcessResult AshlarAlone(const std::string& arguments);
  // Runs it with so many bytes of addresses.
  static ProcessResult AshlarWithin(int64_t bytes, const std::string& arguments);
  // Runs `ashlar ARGUMENTS` and sends it SIGINT once it has had a handler for so long, or has had
  // none for a minute.
  static ProcessResult AshlarInterrupted(const std::string& arguments, int delay_ms);
  // Runs it and kills it (SIGKILL) after that long. Whether it was still running then.
  static bool AshlarKilled(const std::string& arguments, double seconds);
  // Runs `ashlar COMMAND ARGUMENTS` for each, `command` with its blank.
  static void ExpectEndings(const std::string& command, const std::vector<Ending>& endings);
  // The same of usage errors, each with a part of what it says.
  static void ExpectUsageErrors(const std::string& command,
                                const std::vector<std::pair<std::string, std::string>>& errors);
  // Rounding alone is too much for no tolerance at all: `compare MODEL --layers all` ends with 5
  // then, and its document names the first layer that differs.
  static void ExpectStrictLayersDiffer(const std::string& model);
  static std::string Path(const std::string& name);
  static std::string Read(const std::string& name);
  static void Write(const std::string& name, const std::string& text);

 private:
  // `before`: a command of the shell, ending in ';'.
  static ProcessResult Execute(const std::string& program, const std::string& arguments,
                               const std::string& before = "");
  static ProcessResult ResultOf(int status);
  static std::string folder_;
};

// Expects these fields in each of a document's pools.
void ExpectPools(const nlohmann::json& pools, const std::vector<const char*>& fields);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_COMMAND_COMMAND_PROCESS_H_
