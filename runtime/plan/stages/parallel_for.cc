#include "runtime/plan/stages/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "memory/problem/stop.h"

namespace ashlar {

int64_t CoresForPlanning() { return std::max<int64_t>(1, std::thread::hardware_concurrency()); }

void ParallelFor(size_t count, const std::stop_token& stop, absl::FunctionRef<void(size_t)> body) {
  std::atomic<size_t> next = 0;
  std::mutex failing;
  std::exception_ptr failure;  // the first; memory may run out on any thread
  const auto work = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) {
        memory::ThrowIfStopped(stop);
        body(i);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failing);
      if (failure == nullptr) failure = std::current_exception();
      next = count;
    }
  };
  const auto cores = static_cast<size_t>(CoresForPlanning());
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(cores, count)) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system refuses more threads: the existing ones do the work.
  }
  work();
  for (std::thread& other : others) other.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace ashlar
