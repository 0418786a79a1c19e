// Runs the threads of CUDA kernels on the host, block after block. Threads of a block are fibers of
// the calling thread: one runs until it ends or waits for others.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_GRID_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_GRID_H_

#include <cstdint>
#include <functional>

namespace ashlar::testing {

struct Index3 {
  unsigned x = 1, y = 1, z = 1;
};

// Of the thread that runs.
struct ThreadIndex {
  Index3 block, thread, grid_size, block_size;
};
ThreadIndex& CurrentThread();

// The order in which the threads of a block take their turns. Where the result depends on it,
// threads race.
enum class ThreadOrder { kForward, kBackward };
void SetThreadOrder(ThreadOrder order);

// Whether a device could start it: compute capability 7.5 and later.
bool CanStart(const Index3& grid, const Index3& block, size_t parameter_bytes);

// Calls `thread` for every thread of the grid. Ends the program where threads of a block wait for
// each other at different places, or for one that has ended.
void RunGrid(const Index3& grid, const Index3& block, const std::function<void()>& thread);

// Called by threads: until all of the block are here.
void WaitForBlock();
// Until all of the warp are here; each then has the value of the one whose lane is its own xor
// `lanes`.
uint64_t ExchangeInWarp(uint64_t value, unsigned lanes);

// Puts work behind what a stream has; for those who define streams.
void EnqueueOn(void* stream, std::function<void()> work);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_GRID_H_
