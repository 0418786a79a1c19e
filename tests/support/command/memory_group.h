// A memory control group for commands of tests.
#ifndef ASHLAR_TESTS_SUPPORT_COMMAND_MEMORY_GROUP_H_
#define ASHLAR_TESTS_SUPPORT_COMMAND_MEMORY_GROUP_H_

#include <cstdint>
#include <string>

namespace ashlar::testing {

// A group of either version of the interface; false: none can be made. A process in it is charged
// for its own memory, and for pages of files that it is the first to read or write; these are
// dropped when memory is short.
class MemoryGroup {
 public:
  explicit MemoryGroup(int64_t bytes);
  ~MemoryGroup();
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  explicit operator bool() const { return !path_.empty(); }
  std::string procs() const { return path_ + "/cgroup.procs"; }

 private:
  std::string path_;
};

// Runs `ashlar ARGUMENTS` in the folder and in the group. Returns whether it ended with exit code
// 0.
bool AshlarInside(const MemoryGroup& group, const std::string& folder,
                  const std::string& arguments);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_COMMAND_MEMORY_GROUP_H_
