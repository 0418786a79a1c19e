// Planning tasks on several threads: each runs once, and failures reach the caller.
#include "runtime/plan/stages/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <vector>

#include "memory/problem/stop.h"

namespace ashlar {
namespace {

TEST(ParallelForTest, EveryTaskRunsOnce) {
  for (const size_t count : {0, 1, 2, 1000}) {
    std::vector<int> runs(count, 0);
    ParallelFor(count, {}, [&](size_t i) { ++runs[i]; });
    EXPECT_EQ(runs, std::vector<int>(count, 1));
  }
}

TEST(ParallelForTest, AFailureReachesTheCallerAndEndsTheRest) {
  std::atomic<int> runs = 0;
  EXPECT_THROW(ParallelFor(100000, {},
                           [&](size_t) {
                             ++runs;
                             throw std::bad_alloc();
                           }),
               std::bad_alloc);
  EXPECT_LT(runs, 100000);
}

TEST(ParallelForTest, AStopIsSeenBetweenTasks) {
  std::stop_source stop;
  std::atomic<int> runs = 0;
  EXPECT_THROW(ParallelFor(100000, stop.get_token(),
                           [&](size_t) {
                             ++runs;
                             stop.request_stop();
                           }),
               memory::Stopped);
  EXPECT_LT(runs, 100000);
}

}  // namespace
}  // namespace ashlar
