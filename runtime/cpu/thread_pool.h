// Threads that sessions share. Each has a part of a loop's chunks of its own, and takes from the
// ends of others' when it is done (affinity scheduling: Markatos and LeBlanc 1994, "Using Processor
// Affinity in Loop Scheduling on Shared-Memory Multiprocessors"): what a thread made in one loop it
// mostly reads in the next, from its own caches. Nothing is allocated while loops run.
#ifndef ASHLAR_RUNTIME_CPU_THREAD_POOL_H_
#define ASHLAR_RUNTIME_CPU_THREAD_POOL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace ashlar::cpu {

// A loop's caller takes chunks of it as the workers do, and waits only for chunks that a worker has
// begun: a loop ends even where every worker is busy with others, was preempted or is gone (in a
// child process). Loops may run side by side and inside one another.
//
// Whoever waits, spins for a while, then yields, then sleeps.
class ThreadPool {
 public:
  // Calls one chunk of a loop; `context` is the loop's. Must not throw.
  using Chunk = void (*)(const void* context, int64_t chunk, int thread);

  ThreadPool() = default;
  // Waits for the workers; no loop may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The process's pool, which lives for ever. In a child process its workers are gone; the first
  // loop there starts as many anew.
  static ThreadPool& Shared();

  // Sees to it that loops can have `threads` threads: starts workers that are missing. Costs a load
  // where none is. The system may refuse threads: loops then have fewer.
  void Reserve(int threads);
  int workers() const { return num_workers_.load(std::memory_order_acquire); }

  // Calls chunk(context, i, thread) once for each i in [0, count), in any order, from at most
  // `threads` threads: the caller, which is number 0, and workers, each with a number of its own
  // below `threads`. Returns when all calls have.
  void Run(int threads, int64_t count, Chunk chunk, const void* context);

 private:
  // Chunks that nobody has taken: the first in the lower 32 bits, the end in the upper ones.
  struct alignas(64) Part {
    std::atomic<uint64_t> left{0};
  };
  static constexpr int kParts = 16;  // further threads share them

  // A loop that workers may join. Its fields are constant while anybody is in it.
  struct alignas(64) Loop {
    std::atomic<bool> taken{false};
    Chunk chunk = nullptr;
    const void* context = nullptr;
    int num_parts = 0;
    int processor = -1;  // that the caller was on
    // Seats that are free (numbers 1 to kSeats of threads), workers inside, whether the caller
    // sleeps: see thread_pool.cc.
    std::atomic<uint32_t> state{0};
    std::array<Part, kParts> parts;
  };
  // After a fork, in the child: the pool as one that never had a worker.
  static void BeginAnew();

  static constexpr int kLoops = 16;  // at a time; a further one runs on its caller alone

  void Work();
  bool JoinAnyLoop();
  void Announce(int seats);
  static bool Take(Part& part, bool own, int64_t& chunk);
  static void TakeChunks(Loop& loop, int thread);
  static void Leave(Loop& loop);
  static void AwaitWorkers(Loop& loop);

  std::array<Loop, kLoops> loops_;
  alignas(64) std::atomic<uint32_t> announced_{0};  // changes with each loop
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<int> num_workers_{0};
  std::atomic<int> lost_workers_{0};  // by a fork
  std::mutex starting_;
  std::vector<std::thread> threads_;
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_THREAD_POOL_H_
