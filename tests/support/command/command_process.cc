#include "tests/support/command/command_process.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "serialization/native/writer.h"
#include "tests/support/command/command_path.h"
#include "tests/support/command/small_model.h"
#include "tests/support/status.h"

namespace ashlar::testing {

namespace {

// Returns whether a process has a handler for SIGINT.
bool CatchesInterrupts(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string key, value; file >> key && std::getline(file, value);) {
    if (key == "SigCgt:") return (std::stoull(value, nullptr, 16) >> (SIGINT - 1) & 1) != 0;
  }
  return false;
}

}  // namespace

std::string CommandTest::folder_;

void CommandTest::SetUpTestSuite() {
  std::string path = (std::filesystem::temp_directory_path() / "ashlar_test.XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  folder_ = path;
  ASSERT_TRUE(IsOk(WriteModel(SmallModel(2), Path("model.ash"))));
}

void CommandTest::TearDownTestSuite() { std::filesystem::remove_all(folder_); }

void CommandTest::ExpectEndings(const std::string& command, const std::vector<Ending>& endings) {
  for (const Ending& ending : endings) {
    SCOPED_TRACE(ending.arguments);
    const ProcessResult result = Ashlar(command + ending.arguments);
    EXPECT_EQ(result.exit_code, ending.exit_code) << result.err;
    EXPECT_THAT(result.err, ::testing::HasSubstr(ending.message));
  }
}

void CommandTest::ExpectUsageErrors(
    const std::string& command, const std::vector<std::pair<std::string, std::string>>& errors) {
  std::vector<Ending> endings;
  for (const auto& [arguments, message] : errors) endings.push_back({arguments, 2, message});
  ExpectEndings(command, endings);
}

void CommandTest::ExpectStrictLayersDiffer(const std::string& model) {
  const ProcessResult result =
      Ashlar("compare " + model + " --layers all --fail-fast --atol 0 --rtol 0 --json");
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_EQ(result.Json()["first_difference"], result.Json()["layers"].back()["name"]);
}

std::string CommandTest::Path(const std::string& name) { return folder_ + "/" + name; }

std::string CommandTest::Read(const std::string& name) {
  std::ifstream file(Path(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void CommandTest::Write(const std::string& name, const std::string& text) {
  std::ofstream(Path(name), std::ios::binary) << text;
}

ProcessResult CommandTest::Ashlar(const std::string& arguments) {
  return Execute(CommandPath(), arguments);
}

ProcessResult CommandTest::AshlarAlone(const std::string& arguments) {
  const std::string program = Path("ashlar_alone");
  if (!std::filesystem::exists(program)) std::filesystem::copy_file(CommandPath(), program);
  return Execute(program, arguments);
}

ProcessResult CommandTest::AshlarWithin(int64_t bytes, const std::string& arguments) {
  return Execute(CommandPath(), arguments, "ulimit -v " + std::to_string(bytes / 1024) + "; ");
}

ProcessResult CommandTest::Execute(const std::string& program, const std::string& arguments,
                                   const std::string& before) {
  // Uses a kernel record of its own, not the user's.
  const std::string command = "cd '" + folder_ + "' && { " + before +
                              "ASHLAR_KERNELS=kernels.json '" + program + "' " + arguments +
                              "; } >stdout.txt 2>stderr.txt </dev/null";
  return ResultOf(std::system(command.c_str()));
}

ProcessResult CommandTest::AshlarInterrupted(const std::string& arguments, int delay_ms) {
  const std::string command = "cd '" + folder_ + "' && exec env ASHLAR_KERNELS=kernels.json '" +
                              CommandPath() + "' " + arguments +
                              " >stdout.txt 2>stderr.txt </dev/null";
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  for (int i = 0; i < 6000 && !CatchesInterrupts(child); ++i) {
    if (waitpid(child, &status, WNOHANG) == child) return ResultOf(status);
    usleep(10'000);
  }
  usleep(delay_ms * 1000);
  kill(child, SIGINT);
  waitpid(child, &status, 0);
  return ResultOf(status);
}

bool CommandTest::AshlarKilled(const std::string& arguments, double seconds) {
  const std::string command = "cd '" + folder_ + "' && exec env ASHLAR_KERNELS=kernels.json '" +
                              CommandPath() + "' " + arguments + " >/dev/null 2>&1 </dev/null";
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  usleep(static_cast<useconds_t>(seconds * 1e6));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

ProcessResult CommandTest::ResultOf(int status) {
  ProcessResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = Read("stdout.txt");
  result.err = Read("stderr.txt");
  return result;
}

void ExpectPools(const nlohmann::json& pools, const std::vector<const char*>& fields) {
  for (const char* pool : {"arena", "weights", "input", "output"}) {
    for (const char* field : fields) {
      SCOPED_TRACE(std::string(pool) + "." + field);
      EXPECT_TRUE(pools[pool].contains(field));
    }
    EXPECT_TRUE(pools[pool]["planned_bytes"].is_number_integer());
  }
}

ScopedVariable::ScopedVariable(const char* name, const char* value) : name_(name) {
  if (const char* const before = std::getenv(name)) before_ = before;
  setenv(name, value, 1);
}

ScopedVariable::~ScopedVariable() {
  if (before_.has_value()) {
    setenv(name_, before_->c_str(), 1);
  } else {
    unsetenv(name_);
  }
}

}  // namespace ashlar::testing
