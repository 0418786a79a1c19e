#include "runtime/plan/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace ashlar {

void ParallelFor(size_t count, absl::FunctionRef<void(size_t)> body) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) body(i);
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(cores, count)) others.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads are to be had: the ones that there are do the work.
  }
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace ashlar
