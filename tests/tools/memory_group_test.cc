// The limit of the control group, in both versions of the interface.
#include "tools/memory_group.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/command/command_process.h"
#include "tests/support/command/memory_group.h"

namespace ashlar::testing {
namespace {

class MemoryGroupTest : public CommandTest {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void WriteAt(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  std::optional<int64_t> Limit() const { return MemoryGroupLimit(root_); }

  const std::string root_ = Path("root");
};

TEST_F(MemoryGroupTest, FirstVersion) {
  EXPECT_EQ(Limit(), std::nullopt) << "no groups";
  WriteAt("/proc/self/cgroup", "5:cpu,cpuacct:/\n4:hugetlb,memory:/outer/inner\n0::/\n");
  const std::string outer = "/sys/fs/cgroup/memory/outer", file = "/memory.limit_in_bytes";
  WriteAt("/sys/fs/cgroup/memory" + file, "9223372036854771712");
  EXPECT_EQ(Limit(), std::nullopt);
  WriteAt(outer + "/inner" + file, "16777216");
  EXPECT_EQ(Limit(), 16777216);
  WriteAt(outer + file, "8388608");
  EXPECT_EQ(Limit(), 8388608) << "of the group around it";
}

TEST_F(MemoryGroupTest, SecondVersion) {
  WriteAt("/proc/self/cgroup", "0::/user.slice/run-1.scope\n");
  WriteAt("/sys/fs/cgroup/user.slice/memory.max", "max");
  EXPECT_EQ(Limit(), std::nullopt);
  WriteAt("/sys/fs/cgroup/user.slice/run-1.scope/memory.max", "16777216");
  EXPECT_EQ(Limit(), 16777216);
}

TEST_F(MemoryGroupTest, OfAContainerThatSeesItsOwnGroupAsTheRoot) {
  WriteAt("/proc/self/cgroup", "0::/../../run-1.scope\n");
  WriteAt("/sys/fs/cgroup/memory.max", "33554432");
  EXPECT_EQ(Limit(), 33554432);
}

// Regression: said "none" in a group below the root.
TEST_F(MemoryGroupTest, DoctorReportsTheLimit) {
  constexpr int64_t kLimit = 512 << 20;  // the CUDA libraries, which it opens, take 120 MB
  const MemoryGroup group(kLimit);
  if (!group) GTEST_SKIP() << "no memory control group can be made here";
  ASSERT_TRUE(AshlarInside(group, Path(""), "doctor -q --json=doctor.json"));
  EXPECT_EQ(nlohmann::json::parse(Read("doctor.json"))["group_limit_bytes"], kLimit);
}

}  // namespace
}  // namespace ashlar::testing
