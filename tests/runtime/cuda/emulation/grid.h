// Runs the threads of CUDA kernels on the host, block after block. Threads of a block are fibers of
// the calling thread: each runs until it ends or waits for others.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_GRID_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_GRID_H_

#include <cstdint>
#include <functional>

namespace ashlar::testing {

struct Index3 {
  unsigned x = 1, y = 1, z = 1;
};

// The indices of the running thread.
struct ThreadIndex {
  Index3 block, thread, grid_size, block_size;
};
ThreadIndex& CurrentThread();

// The order in which the threads of a block run. If the result depends on it, there is a race.
enum class ThreadOrder { kForward, kBackward };
void SetThreadOrder(ThreadOrder order);

// Returns whether a device of compute capability 7.5 or later could start it.
bool CanStart(const Index3& grid, const Index3& block, size_t parameter_bytes);

// Calls `thread` for every thread of the grid. Ends the program if threads of a block wait for each
// other at different places, or for a thread that has ended.
void RunGrid(const Index3& grid, const Index3& block, const std::function<void()>& thread);

// Called by threads: waits until all threads of the block have arrived.
void WaitForBlock();
// Waits until all threads of the warp have arrived; returns the value of the thread whose lane is
// the caller's xor `lanes`.
uint64_t ExchangeInWarp(uint64_t value, unsigned lanes);

// Appends work to a stream; the library that defines streams implements it.
void EnqueueOn(void* stream, std::function<void()> work);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_GRID_H_
