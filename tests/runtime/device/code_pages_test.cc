#include "runtime/device/code_pages.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>

#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// Returns bytes of a line of /proc/self/status; -1: there is none.
int64_t StatusBytes(const char* format) {
  std::FILE* const file = std::fopen("/proc/self/status", "re");
  char line[256];
  int64_t kib = 0, bytes = -1;
  while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, format, &kib) == 1) bytes = kib << 10;
  }
  if (file != nullptr) std::fclose(file);
  return bytes;
}
int64_t LockedBytes() { return StatusBytes("VmLck: %" SCNd64); }
int64_t FileBytes() { return StatusBytes("RssFile: %" SCNd64); }

TEST(CodePages, CodeIsLetGoOf) {
  const int64_t before = FileBytes();
  LetGoOfCode();
  EXPECT_LT(FileBytes(), before);
}

TEST(CodePages, CodeOnUseIsLockedAsFarAsAllowed) {
  struct rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  const int64_t before = LockedBytes(), resident = FileBytes();
  const absl::Status locked = LockCodeOnUse(CodeOf::kThisLibrary);
  const int64_t own = LockedBytes();
  EXPECT_LT(FileBytes(), resident) << "only code that is used again";
  const absl::Status all_locked = LockCodeOnUse(CodeOf::kProgram);
  const int64_t all = LockedBytes();
  if (all == before) GTEST_SKIP() << "the process may lock " << limit.rlim_cur << " bytes";
  EXPECT_GT(own, before);
  for (const absl::Status& status : {locked, all_locked}) {
    EXPECT_TRUE(status.ok() || FailsWith(status, " bytes (ulimit -l)"));
  }
  EXPECT_GE(all, own);
}

}  // namespace
}  // namespace ashlar::testing
