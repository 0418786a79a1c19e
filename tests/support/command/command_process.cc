#include "tests/support/command/command_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "serialization/native/writer.h"
#include "tests/support/command/small_model.h"
#include "tests/support/status.h"

namespace ashlar::testing {

std::string CommandTest::folder_;

void CommandTest::SetUpTestSuite() {
  std::string path = (std::filesystem::temp_directory_path() / "ashlar_test.XXXXXX").string();
  ASSERT_NE(mkdtemp(path.data()), nullptr);
  folder_ = path;
  ASSERT_TRUE(IsOk(WriteModel(SmallModel(2), Path("model.ash"))));
}

void CommandTest::TearDownTestSuite() { std::filesystem::remove_all(folder_); }

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
  return Execute(ASHLAR_COMMAND, arguments);
}

ProcessResult CommandTest::AshlarAlone(const std::string& arguments) {
  const std::string program = Path("ashlar_alone");
  if (!std::filesystem::exists(program)) std::filesystem::copy_file(ASHLAR_COMMAND, program);
  return Execute(program, arguments);
}

ProcessResult CommandTest::Execute(const std::string& program, const std::string& arguments) {
  // With a record of kernels of its own, not the user's.
  const std::string command = "cd '" + folder_ + "' && { ASHLAR_KERNELS=kernels.json '" + program +
                              "' " + arguments + "; } >stdout.txt 2>stderr.txt </dev/null";
  const int status = std::system(command.c_str());
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
