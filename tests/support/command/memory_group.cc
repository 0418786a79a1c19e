#include "tests/support/command/memory_group.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_path.h"

namespace ashlar::testing {

MemoryGroup::MemoryGroup(int64_t bytes) {
  static int groups = 0;
  const std::string name = absl::StrCat("/ashlar-test-", getpid(), "-", groups++);
  for (const auto& [mount, limit] : {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                     std::pair{"/sys/fs/cgroup", "memory.max"}}) {
    std::error_code error;
    path_ = mount + name;
    if (!std::filesystem::create_directory(path_, error)) continue;
    std::ofstream file(path_ + "/" + limit);
    if (std::filesystem::exists(path_ + "/" + limit, error) && file << bytes << std::flush) return;
    std::filesystem::remove(path_, error);
  }
  path_.clear();
}

MemoryGroup::~MemoryGroup() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove(path_, error);
}

bool AshlarInside(const MemoryGroup& group, const std::string& folder,
                  const std::string& arguments) {
  const std::string command = absl::StrCat("echo $$ > ", group.procs(), " && cd '", folder,
                                           "' && exec '", CommandPath(), "' ", arguments);
  return std::system(command.c_str()) == 0;
}

}  // namespace ashlar::testing
