#include "runtime/cpu/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/cpu/parallel.h"
#include "runtime/measure/heap/heap_counter.h"

namespace ashlar::cpu {
namespace {

using Body = std::function<void(int64_t, int)>;

void RunLoop(ThreadPool& pool, int threads, int64_t count, const Body& body) {
  pool.Run(
      threads, count,
      [](const void* context, int64_t i, int thread) {
        (*static_cast<const Body*>(context))(i, thread);
      },
      &body);
}

// Returns whether `condition` becomes true within some seconds.
bool Await(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// Runs chunks that each wait for all others to begin, and so need that many threads at once.
bool RunAtOnce(ThreadPool& pool, int threads) {
  std::atomic<int> begun{0};
  std::atomic<bool> met{true};
  RunLoop(pool, threads, threads, [&](int64_t, int) {
    ++begun;
    if (!Await([&] { return begun == threads; })) met = false;
  });
  return met;
}

bool RunsTwoAtOnce(ThreadPool& pool) { return RunAtOnce(pool, 2); }

TEST(ThreadPoolTest, CallsEachChunkOnceWhateverTheThreads) {
  for (const int threads : {1, 2, 3, 8, 33}) {
    ThreadPool pool;
    pool.Reserve(threads);
    EXPECT_EQ(pool.workers(), threads - 1);
    for (const int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      std::atomic<bool> in_range{true};
      RunLoop(pool, threads, count, [&](int64_t i, int thread) {
        ++calls[i];
        if (thread < 0 || thread >= threads) in_range = false;
      });
      for (const std::atomic<int>& c : calls) ASSERT_EQ(c, 1) << threads << " " << count;
      EXPECT_TRUE(in_range);
    }
  }
}

// Regression: on separate chiplets, two threads that took arbitrary chunks mostly read each other's
// results. Inception v1 took 16.1 ms instead of 10.0.
TEST(ThreadPoolTest, AThreadTakesItsOwnPartAndThenFromTheEndsOfOthers) {
  ThreadPool pool;
  pool.Reserve(2);
  std::vector<int64_t> of_caller, of_worker;
  std::atomic<int> begun{0};
  std::atomic<size_t> done{0};
  bool met = true;
  RunLoop(pool, 2, 8, [&](int64_t i, int thread) {
    (thread == 0 ? of_caller : of_worker).push_back(i);
    if (i == 0 || i == 4) ++begun;
    if (i == 0) met = Await([&] { return begun == 2; });
    if (i == 4) Await([&] { return done == 7; });  // the caller takes all others meanwhile
    if (thread == 0) ++done;
  });
  EXPECT_TRUE(met);
  EXPECT_EQ(of_caller, (std::vector<int64_t>{0, 1, 2, 3, 7, 6, 5}));
  EXPECT_EQ(of_worker, (std::vector<int64_t>{4}));
}

TEST(ThreadPoolTest, NoTwoThreadsOfALoopHaveTheSameNumber) {
  constexpr int kThreads = 4;
  ThreadPool pool;
  pool.Reserve(kThreads);
  std::array<std::atomic<int>, kThreads> inside{};
  std::atomic<bool> alone{true};
  for (int round = 0; round < 40; ++round) {
    RunLoop(pool, kThreads, 16, [&](int64_t, int thread) {
      if (++inside[thread] != 1) alone = false;
      std::this_thread::yield();
      --inside[thread];
    });
  }
  EXPECT_TRUE(alone);
}

TEST(ThreadPoolTest, WithOneThreadThereIsNoWorker) {
  ThreadPool pool;
  pool.Reserve(1);
  EXPECT_EQ(pool.workers(), 0);
  int64_t sum = 0;  // only this thread writes it
  RunLoop(pool, 4, 10, [&](int64_t i, int) { sum += i; });
  EXPECT_EQ(sum, 45);
}

TEST(ThreadPoolTest, ALoopHasNoMoreThreadsThanItAskedFor) {
  ThreadPool pool;
  pool.Reserve(8);
  std::atomic<int> inside{0}, most{0};
  for (int round = 0; round < 20; ++round) {
    RunLoop(pool, 2, 20, [&](int64_t, int) {
      const int now = ++inside;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::yield();
      --inside;
    });
  }
  EXPECT_LE(most, 2);
}

TEST(ThreadPoolTest, WorkersComeAfterTheyWentToSleep) {
  ThreadPool pool;
  pool.Reserve(2);
  for (const int pause_us : {0, 20, 200, 2000, 20000}) {
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    EXPECT_TRUE(RunsTwoAtOnce(pool)) << pause_us;
  }
}

TEST(ThreadPoolTest, LoopsNest) {
  ThreadPool pool;
  pool.Reserve(3);
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 50; ++round) {
    RunLoop(pool, 3, 5, [&](int64_t i, int) {
      RunLoop(pool, 3, 7, [&](int64_t j, int) {
        RunLoop(pool, 2, 3, [&](int64_t k, int) { sum += 100 * i + 10 * j + k; });
      });
    });
  }
  EXPECT_EQ(sum, 50 * (100 * 10 * 21 + 10 * 21 * 15 + 3 * 35));
}

TEST(ThreadPoolTest, ALoopEndsWhileAllWorkersAreHeldUpElsewhere) {
  ThreadPool pool;
  pool.Reserve(2);
  std::atomic<int> begun{0};
  std::atomic<bool> release{false};
  std::thread other([&] {
    RunLoop(pool, 2, 2, [&](int64_t, int) {
      ++begun;
      Await([&] { return release.load(); });
    });
  });
  ASSERT_TRUE(Await([&] { return begun == 2; }));
  int64_t sum = 0;
  RunLoop(pool, 2, 100, [&](int64_t i, int) { sum += i; });
  EXPECT_EQ(sum, 4950);
  release = true;
  other.join();
}

TEST(ThreadPoolTest, ManyCallersAtOnce) {
  ThreadPool pool;
  pool.Reserve(3);
  constexpr int kCallers = 20;  // more loops than workers can see
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 100; ++round) {
        std::vector<int64_t> squares(50);
        RunLoop(pool, 3, 50, [&](int64_t i, int) { squares[i] = i * i + c; });
        int64_t sum = 0;
        for (int64_t s : squares) sum += s;
        right += sum == 40425 + 50 * c;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, kCallers * 100);
}

TEST(ThreadPoolTest, LoopsAllocateNothing) {
  if (!HeapCountingAvailable()) GTEST_SKIP() << "the sanitizer has the allocator";
  ThreadPool& pool = ThreadPool::Shared();
  pool.Reserve(3);
  std::atomic<int64_t> sum{0};
  StartHeapCounting();
  for (int round = 0; round < 100; ++round) {
    ParallelFor(3, 1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  }
  const HeapCounts counts = StopHeapCounting();
  EXPECT_EQ(sum, 100000);
  EXPECT_EQ(counts.own_calls + counts.library_calls, 0);
}

TEST(ThreadPoolTest, EndsWhetherWorkersSpinOrSleep) {
  for (const int pause_us : {0, 100, 5000}) {
    auto pool = std::make_unique<ThreadPool>();
    pool->Reserve(4);
    EXPECT_TRUE(RunsTwoAtOnce(*pool));
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    pool.reset();
  }
}

TEST(ThreadPoolTest, AChildProcessStartsItsWorkersAnew) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer starts no threads in a child process";
#endif
  ThreadPool& pool = ThreadPool::Shared();
  pool.Reserve(3);
  const int workers = pool.workers();
  // The address sanitizer's locks do not survive a fork while a thread starts: the child's own
  // threads would wait for them forever.
  ASSERT_TRUE(RunAtOnce(pool, workers + 1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int64_t> sum = 0;
    const bool none = pool.workers() == 0;
    ParallelPieces(3, 100, [&](int64_t i, int) { sum += i; });
    const bool two = RunsTwoAtOnce(pool);
    _exit(none && two && sum == 4950 && pool.workers() == workers ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

using ThreadPoolDeathTest = ::testing::Test;
TEST(ThreadPoolDeathTest, NoExceptionLeavesALoop) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int threads : {1, 2}) {
    EXPECT_DEATH(
        {
          try {
            ParallelPieces(threads, 10, [](int64_t, int) { throw std::runtime_error("lost"); });
          } catch (...) {
            _exit(0);
          }
        },
        "lost");
  }
}

TEST(ParallelForTest, RangesCoverAllAndBeginAtMultiplesOfTheGrain) {
  ThreadPool::Shared().Reserve(4);
  for (const int threads : {1, 2, 3, 4}) {
    for (const int64_t count : {0, 1, 5, 16, 63, 64, 1000}) {
      for (const int64_t grain : {1, 3, 16, 2000}) {
        std::vector<std::atomic<int>> calls(count);
        std::atomic<bool> aligned{true};
        ParallelFor(threads, count, grain, [&](int64_t begin, int64_t end) {
          if (begin % grain != 0 || (end - begin < grain && end != count)) aligned = false;
          for (int64_t i = begin; i < end; ++i) ++calls[i];
        });
        EXPECT_TRUE(aligned) << threads << " " << count << " " << grain;
        for (const std::atomic<int>& c : calls) ASSERT_EQ(c, 1);
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
