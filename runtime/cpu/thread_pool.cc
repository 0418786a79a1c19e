// A loop's state is one word, so that joining, leaving and closing are single atomic operations:
//
//   bits 0 to 14   workers inside
//   bits 15 to 30  free seats
//   bit 31         the caller sleeps until the last worker leaves
//
// A worker takes a seat and enters in one step; only then does it read the loop. The caller closes
// the loop by removing all free seats. The place may be used for another loop when nobody is
// inside.
#include "runtime/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "runtime/cpu/futex.h"
#include "runtime/device/allocation_origin.h"

namespace ashlar::cpu {
namespace {

constexpr uint32_t kWorker = 1, kSeat = 1u << 15, kSleeping = 1u << 31;
constexpr int kMaxSeats = (1 << 15) - 1;
constexpr int64_t kMostChunks = 0xffffffff;  // in a loop; with more, it runs on its caller alone

constexpr uint32_t WorkersIn(uint32_t state) { return state & (kSeat - 1); }
constexpr uint32_t SeatsIn(uint32_t state) { return (state & ~kSleeping) / kSeat; }

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A policy of how long to spin and to yield before sleeping. A sleeping worker takes 10 to 50
// microseconds to wake. Steps of a network follow each other faster than that, so workers stay
// awake between a few of them. Yielding costs nothing if no other thread wants the processor.
class Patience {
 public:
  Patience(std::chrono::microseconds spin, std::chrono::microseconds yield)
      : spin_(spin), yield_(yield) {}

  // Waits a moment; returns false when it is time to sleep.
  bool Wait() {
    constexpr int kPausesPerLook = 8;
    for (int i = 0; i < kPausesPerLook; ++i) Pause();
    const auto now = std::chrono::steady_clock::now();
    if (start_ == std::chrono::steady_clock::time_point()) start_ = now;
    if (now - start_ < spin_) return true;
    sched_yield();
    return now - start_ < spin_ + yield_;
  }

 private:
  const std::chrono::microseconds spin_, yield_;
  std::chrono::steady_clock::time_point start_;
};

using std::chrono::microseconds;
constexpr microseconds kWorkerSpins{50}, kWorkerYields{1000};
// A late worker probably waits for its processor, which another thread uses. Then it helps more to
// free the caller's own processor than to spin on it.
constexpr microseconds kCallerSpins{100}, kCallerYields{100};

// Moves this thread from a processor to any other allowed one, if there are at least `others`. The
// system moves a thread that waits for a busy processor, but may take some milliseconds, longer
// than whole runs of a small model.
void LeaveProcessor(int processor, int others) {
  constexpr auto kBetween = std::chrono::milliseconds(10);  // limits how often threads move
  thread_local std::chrono::steady_clock::time_point last;
  const auto now = std::chrono::steady_clock::now();
  if (now - last < kBetween) return;
  last = now;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t rest = allowed;
  CPU_CLR(processor, &rest);
  if (CPU_COUNT(&rest) < others || sched_setaffinity(0, sizeof(rest), &rest) != 0) return;
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

}  // namespace

ThreadPool& ThreadPool::Shared() {
  static auto* const pool = [] {
    auto* const made = new ThreadPool();
    pthread_atfork(nullptr, nullptr, BeginAnew);
    return made;
  }();
  return *pool;
}

void ThreadPool::BeginAnew() {
  ThreadPool& pool = Shared();
  const int lost = pool.workers() + pool.lost_workers_.load();
  // Locks and loops are in the state in which the parent's threads left them, and its threads
  // cannot be joined. So the object is constructed again in place, without a destructor call.
  new (&pool) ThreadPool();
  pool.lost_workers_.store(lost);
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  announced_.fetch_add(1);
  FutexWake(announced_, kMaxSeats);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Reserve(int threads) {
  const int wanted = std::min(threads - 1, kMaxSeats);
  if (workers() >= wanted) return;
  const std::lock_guard<std::mutex> lock(starting_);
  try {
    while (static_cast<int>(threads_.size()) < wanted) {
      threads_.emplace_back([this] { Work(); });
      num_workers_.store(static_cast<int>(threads_.size()), std::memory_order_release);
    }
  } catch (const std::system_error&) {
    // Loops run with fewer threads.
  }
}

// Takes the first chunk left in the part, or the last if the part belongs to another thread.
// Returns false if none is left.
bool ThreadPool::Take(Part& part, bool own, int64_t& chunk) {
  uint64_t left = part.left.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t begin = left & kMostChunks, end = left >> 32;
    if (begin >= end) return false;
    const uint64_t taken = own ? left + 1 : left - (uint64_t{1} << 32);
    if (part.left.compare_exchange_weak(left, taken, std::memory_order_relaxed)) {
      chunk = static_cast<int64_t>(own ? begin : end - 1);
      return true;
    }
  }
}

void ThreadPool::TakeChunks(Loop& loop, int thread) {
  for (int i = 0; i < loop.num_parts; ++i) {
    Part& part = loop.parts[static_cast<size_t>((thread + i) % loop.num_parts)];
    for (int64_t chunk; Take(part, i == 0, chunk);) loop.chunk(loop.context, chunk, thread);
  }
}

void ThreadPool::Leave(Loop& loop) {
  const uint32_t before = loop.state.fetch_sub(kWorker, std::memory_order_acq_rel);
  if (WorkersIn(before) == 1 && (before & kSleeping) != 0) FutexWake(loop.state, 1);
}

bool ThreadPool::JoinAnyLoop() {
  for (Loop& loop : loops_) {
    uint32_t state = loop.state.load(std::memory_order_relaxed);
    while (SeatsIn(state) > 0) {
      if (!loop.state.compare_exchange_weak(state, state - kSeat + kWorker,
                                            std::memory_order_acquire, std::memory_order_relaxed)) {
        continue;
      }
      const int callers = loop.processor;
      TakeChunks(loop, static_cast<int>(SeatsIn(state)));
      Leave(loop);
      // Only now, when nobody waits for this thread.
      if (sched_getcpu() == callers) LeaveProcessor(callers, workers());
      return true;
    }
  }
  return false;
}

void ThreadPool::Work() {
  const OriginScope own(AllocationOrigin::kOwn);
  while (!stopping_) {
    const uint32_t seen = announced_.load();
    if (JoinAnyLoop()) continue;
    Patience patience(kWorkerSpins, kWorkerYields);
    while (announced_.load(std::memory_order_relaxed) == seen) {
      if (patience.Wait()) continue;
      // Either the announcer sees a sleeper, or the sleeper sees the announcement.
      sleepers_.fetch_add(1);
      if (announced_.load() == seen) FutexWait(announced_, seen);
      sleepers_.fetch_sub(1);
    }
  }
}

void ThreadPool::Announce(int seats) {
  announced_.fetch_add(1);
  if (sleepers_.load() > 0) FutexWake(announced_, seats);
}

void ThreadPool::AwaitWorkers(Loop& loop) {
  Patience patience(kCallerSpins, kCallerYields);
  for (;;) {
    uint32_t state = loop.state.load(std::memory_order_acquire);
    if (WorkersIn(state) == 0) break;
    if (patience.Wait()) continue;
    if (loop.state.compare_exchange_strong(state, state | kSleeping)) {
      FutexWait(loop.state, state | kSleeping);
    }
  }
}

void ThreadPool::Run(int threads, int64_t count, Chunk chunk, const void* context) {
  if (observer_ != nullptr) [[unlikely]]
    return observer_(threads, count, chunk, context);
  if (lost_workers_.load(std::memory_order_relaxed) > 0) [[unlikely]] {
    Reserve(1 + lost_workers_.exchange(0));
  }
  const int seats = static_cast<int>(
      std::min<int64_t>({threads - 1, count - 1, num_workers_.load(std::memory_order_acquire)}));
  Loop* loop = nullptr;
  const bool alone = seats <= 0 || count > kMostChunks;
  for (size_t i = 0; i < loops_.size() && loop == nullptr && !alone; ++i) {
    if (!loops_[i].taken.load(std::memory_order_relaxed) &&
        !loops_[i].taken.exchange(true, std::memory_order_acquire)) {
      loop = &loops_[i];
    }
  }
  if (loop == nullptr) {
    for (int64_t i = 0; i < count; ++i) chunk(context, i, 0);
    return;
  }
  loop->chunk = chunk;
  loop->context = context;
  loop->num_parts = std::min(seats + 1, kParts);
  loop->processor = sched_getcpu();
  for (int64_t i = 0; i < loop->num_parts; ++i) {
    const auto begin = static_cast<uint64_t>(count * i / loop->num_parts);
    const auto end = static_cast<uint64_t>(count * (i + 1) / loop->num_parts);
    loop->parts[static_cast<size_t>(i)].left.store(end << 32 | begin, std::memory_order_relaxed);
  }
  loop->state.store(static_cast<uint32_t>(seats) * kSeat, std::memory_order_release);
  Announce(seats);
  TakeChunks(*loop, 0);
  loop->state.fetch_and(kSeat - 1, std::memory_order_acq_rel);  // removes the free seats
  AwaitWorkers(*loop);
  loop->state.store(0, std::memory_order_relaxed);
  loop->taken.store(false, std::memory_order_release);
}

}  // namespace ashlar::cpu
