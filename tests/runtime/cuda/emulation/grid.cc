#include "tests/runtime/cuda/emulation/grid.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/runtime/cuda/emulation/context.h"
#include "tests/runtime/cuda/emulation/sanitizer_fiber.h"

namespace ashlar::testing {
namespace {

constexpr unsigned kWarp = 32;
constexpr size_t kStackBytes = size_t{128} << 10;

std::atomic<ThreadOrder> thread_order{ThreadOrder::kForward};

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "emulated CUDA block: %s\n", what);
  std::abort();
}

enum class State { kIdle, kAtBarrier, kAtExchange };

struct Fiber {
  // Begins in `main` at the first switch to it.
  explicit Fiber(void (*main)())
      : stack(new char[kStackBytes]), context(main, stack.get(), kStackBytes) {
    sanitizer.SetStack(stack.get(), kStackBytes);
  }

  std::unique_ptr<char[]> stack;
  Context context;
  SanitizerFiber sanitizer;
  State state = State::kIdle;
  ThreadIndex index;
  unsigned number = 0;  // number of the thread in its block
  uint64_t value = 0;   // sent to an exchange, then received from it
  unsigned lanes = 0;
};

// Runs blocks on one thread of the host.
class BlockRunner {
 public:
  static BlockRunner& OfThisThread() {
    static thread_local BlockRunner runner;
    return runner;
  }

  Fiber& current() { return *current_; }

  void Run(const Index3& grid, const Index3& block, const Index3& size,
           const std::function<void()>& thread) {
    thread_ = &thread;
    shape_ = {block, {0, 0, 0}, grid, size};
    threads_ = size.x * size.y * size.z;
    started_ = ended_ = 0;
    backward_ = thread_order == ThreadOrder::kBackward;
    for (size_t i = 0; started_ < threads_; ++i) Resume(FiberAt(i));
    while (ended_ < threads_) {
      std::vector<Fiber*> waiting = TakeReady();
      for (Fiber* fiber : waiting) Resume(*fiber);
    }
  }

  // Called on a fiber: leaves it until the scheduler resumes it.
  void Yield(State state) {
    Fiber& fiber = *current_;
    fiber.state = state;
    fiber.sanitizer.BeforeLeaving(scheduler_);
    fiber.context.SwitchTo(scheduler_context_);
    fiber.sanitizer.AfterEntering(scheduler_);
  }

 private:
  Fiber& FiberAt(size_t i) {
    while (fibers_.size() <= i) fibers_.push_back(std::make_unique<Fiber>(&BlockRunner::Main));
    return *fibers_[i];
  }

  void Resume(Fiber& fiber) {
    current_ = &fiber;
    scheduler_.BeforeLeaving(fiber.sanitizer);
    scheduler_context_.SwitchTo(fiber.context);
    scheduler_.AfterEntering(fiber.sanitizer);
  }

  // The body of a fiber: runs threads that have not begun, one after another, without end.
  static void Main() {
    BlockRunner& runner = OfThisThread();
    Fiber& fiber = *runner.current_;
    fiber.sanitizer.AfterEntering(runner.scheduler_);
    while (true) {
      while (runner.started_ < runner.threads_) {
        runner.Begin(fiber, runner.started_++);
        (*runner.thread_)();
        ++runner.ended_;
      }
      runner.Yield(State::kIdle);
    }
  }

  void Begin(Fiber& fiber, unsigned turn) {
    fiber.number = backward_ ? threads_ - 1 - turn : turn;
    fiber.index = shape_;
    const Index3& size = shape_.block_size;
    fiber.index.thread = {fiber.number % size.x, fiber.number / size.x % size.y,
                          fiber.number / (size.x * size.y)};
  }

  // Called when all threads have begun and none can continue. Returns the threads whose wait is
  // over.
  std::vector<Fiber*> TakeReady() {
    std::vector<Fiber*> by_number(threads_, nullptr), ready;
    unsigned at_barrier = 0;
    for (const auto& fiber : fibers_) {
      if (fiber->state == State::kIdle) continue;
      by_number[fiber->number] = fiber.get();
      at_barrier += fiber->state == State::kAtBarrier;
    }
    if (at_barrier == threads_) {
      ready = by_number;
    } else {
      for (unsigned first = 0; first < threads_; first += kWarp) Exchange(first, by_number, ready);
    }
    if (ready.empty()) Fail("threads wait for each other at different places");
    for (Fiber* fiber : ready) fiber->state = State::kIdle;
    if (backward_) ready = {ready.rbegin(), ready.rend()};
    return ready;
  }

  // Exchanges the values of a warp, if all its threads have arrived.
  void Exchange(unsigned first, const std::vector<Fiber*>& by_number, std::vector<Fiber*>& ready) {
    const unsigned end = std::min(first + kWarp, threads_);
    std::vector<uint64_t> values;
    for (unsigned i = first; i < end; ++i) {
      const Fiber* fiber = by_number[i];
      if (fiber == nullptr || fiber->state != State::kAtExchange) return;
      if (fiber->lanes != by_number[first]->lanes) Fail("lanes exchange over different distances");
      values.push_back(fiber->value);
    }
    if (values.size() < kWarp) Fail("an exchange between all lanes of a warp that has fewer");
    for (unsigned i = first; i < end; ++i) {
      by_number[i]->value = values[(i - first) ^ by_number[i]->lanes];
      ready.push_back(by_number[i]);
    }
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  Context scheduler_context_;
  SanitizerFiber scheduler_;
  const std::function<void()>* thread_ = nullptr;
  ThreadIndex shape_;
  unsigned threads_ = 0, started_ = 0, ended_ = 0;
  bool backward_ = false;
};

}  // namespace

ThreadIndex& CurrentThread() { return BlockRunner::OfThisThread().current().index; }

void SetThreadOrder(ThreadOrder order) { thread_order = order; }

bool CanStart(const Index3& grid, const Index3& block, size_t parameter_bytes) {
  constexpr unsigned kMostBlocks = (1u << 31) - 1, kMostAcross = 65535, kMostThreads = 1024;
  constexpr size_t kMostParameterBytes = 4096;
  const auto inside = [](unsigned size, unsigned most) { return size >= 1 && size <= most; };
  return inside(grid.x, kMostBlocks) && inside(grid.y, kMostAcross) &&
         inside(grid.z, kMostAcross) && inside(block.x, kMostThreads) &&
         inside(block.y, kMostThreads) && inside(block.z, 64) &&
         block.x * block.y * block.z <= kMostThreads && parameter_bytes <= kMostParameterBytes;
}

void RunGrid(const Index3& grid, const Index3& block, const std::function<void()>& thread) {
  BlockRunner& runner = BlockRunner::OfThisThread();
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) runner.Run(grid, {x, y, z}, block, thread);
    }
  }
}

void WaitForBlock() { BlockRunner::OfThisThread().Yield(State::kAtBarrier); }

uint64_t ExchangeInWarp(uint64_t value, unsigned lanes) {
  BlockRunner& runner = BlockRunner::OfThisThread();
  Fiber& fiber = runner.current();
  fiber.value = value;
  fiber.lanes = lanes;
  runner.Yield(State::kAtExchange);
  return fiber.value;
}

}  // namespace ashlar::testing
