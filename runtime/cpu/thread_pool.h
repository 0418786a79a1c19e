// A pool of threads that sessions share. Each thread has its own part of a loop's chunks; when
// done, it takes chunks from the ends of other threads' parts (affinity scheduling: Markatos and
// LeBlanc 1994, "Using Processor Affinity in Loop Scheduling on Shared-Memory Multiprocessors"). So
// a thread mostly reads what it wrote in the loop before, from its own caches. Nothing is allocated
// while loops run.
#ifndef ASHLAR_RUNTIME_CPU_THREAD_POOL_H_
#define ASHLAR_RUNTIME_CPU_THREAD_POOL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace ashlar::cpu {

// The caller of a loop runs chunks as the workers do, and waits only for chunks that a worker has
// begun. So a loop ends even if every worker is busy, preempted or gone (in a child process). Loops
// may run concurrently and be nested.
//
// A waiting thread spins for a while, then yields, then sleeps.
class ThreadPool {
 public:
  // Runs one chunk of a loop; `context` is the loop's. Must not throw.
  using Chunk = void (*)(const void* context, int64_t chunk, int thread);

  ThreadPool() = default;
  // Waits for the workers; no loop may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Returns the process's pool, which is never destroyed. A child process starts without workers;
  // its first loop starts as many as before.
  static ThreadPool& Shared();

  // Starts workers until loops can use `threads` threads. Costs one load if there are enough. The
  // system may refuse threads; loops then use fewer.
  void Reserve(int threads);
  int workers() const { return num_workers_.load(std::memory_order_acquire); }

  // Calls chunk(context, i, thread) once for each i in [0, count), in any order, on at most
  // `threads` threads. The caller is thread 0; each worker has its own number below `threads`.
  // Returns when all calls have returned.
  void Run(int threads, int64_t count, Chunk chunk, const void* context);

  // For measurements: `observer` gets each loop instead, and must call its chunks. Set it while no
  // loop runs; null: nobody.
  using Observer = void (*)(int threads, int64_t count, Chunk chunk, const void* context);
  void Observe(Observer observer) { observer_ = observer; }

 private:
  // The chunks that no thread has taken yet: the first in the lower 32 bits, the end in the upper
  // 32.
  struct alignas(64) Part {
    std::atomic<uint64_t> left{0};
  };
  static constexpr int kParts = 16;  // further threads share these

  // A loop that workers may join. Its fields do not change while any thread is in it.
  struct alignas(64) Loop {
    std::atomic<bool> taken{false};
    Chunk chunk = nullptr;
    const void* context = nullptr;
    int num_parts = 0;
    int processor = -1;  // on which the caller ran
    // The free seats (thread numbers 1 to kSeats), the number of workers inside, and whether the
    // caller sleeps: see thread_pool.cc.
    std::atomic<uint32_t> state{0};
    std::array<Part, kParts> parts;
  };
  // In the child after a fork: resets the pool to one that never had a worker.
  static void BeginAnew();

  static constexpr int kLoops = 16;  // concurrent loops; a further one runs on its caller alone

  void Work();
  bool JoinAnyLoop();
  void Announce(int seats);
  static bool Take(Part& part, bool own, int64_t& chunk);
  static void TakeChunks(Loop& loop, int thread);
  static void Leave(Loop& loop);
  static void AwaitWorkers(Loop& loop);

  Observer observer_ = nullptr;
  std::array<Loop, kLoops> loops_;
  alignas(64) std::atomic<uint32_t> announced_{0};  // changes with each loop
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<int> num_workers_{0};
  std::atomic<int> lost_workers_{0};  // lost by a fork
  std::mutex starting_;
  std::vector<std::thread> threads_;
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_THREAD_POOL_H_
