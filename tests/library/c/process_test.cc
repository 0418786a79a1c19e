// The process behind the library: code that is locked in memory, as far as the system allows it.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/library/c/library_test.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

class ProcessTest : public LibraryTest {};

// Locks code in a child process without privileges that may lock so many bytes, and runs a model.
// Returns a number that says what went wrong; 0: nothing.
int LockWithin(rlim_t bytes, int everything, const std::string& path) {
  const rlimit limit = {bytes, bytes};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 100;
  const Plan plan = Model(path).NewPlan(Threads(1));
  Session session = plan.NewSession();
  const std::vector<float> expected = RunOnce(session, InputOf(3));
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) return 101;
  if (ashlar_lock_code(everything) != ASHLAR_UNAVAILABLE) return 1;
  const std::string message = ashlar_error_message();
  const std::string wanted = "may lock " + std::to_string(bytes) + " bytes (ulimit -l)";
  if (message.find(wanted) == std::string::npos) return 2;
  return RunOnce(session, InputOf(3)) == expected ? 0 : 3;
}

TEST_F(ProcessTest, CodeThatMayNotBeLockedIsAnErrorAndIsUsedAsBefore) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make mlock2 do nothing";
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{64 << 10}}) {
    for (const int everything : {0, 1}) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) _exit(LockWithin(bytes, everything, path_));
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << bytes << " bytes, everything " << everything;
    }
  }
  EXPECT_EQ(ashlar_lock_code(2), ASHLAR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ashlar::testing
