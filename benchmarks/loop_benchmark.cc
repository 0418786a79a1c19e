// Measures the overhead of a loop on the thread pool:
//   loop_benchmark [--threads N]
// Loops have one chunk a thread, and each chunk computes for a given time. Shows the median of 200
// times 50 loops.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "benchmarks/arguments.h"
#include "runtime/cpu/thread_pool.h"

namespace ashlar::benchmarks {
namespace {

constexpr int kTimes = 200, kLoops = 50;

// A chain of multiplications, which takes equally long on every core.
void Compute(const void* context, int64_t, int) {
  volatile double product = 1;
  for (int i = 0; i < *static_cast<const int*>(context); ++i) product = product * 1.0000001;
}

// Returns the microseconds of one loop.
double Measure(int threads, int64_t chunks, int length) {
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < kLoops; ++k) {
      cpu::ThreadPool::Shared().Run(threads, chunks, Compute, &length);
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count() / kLoops);
  }
  std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
  return times[kTimes / 2];
}

int Main(int argc, char** argv) {
  int threads = 2;
  CLI::App app("What a loop costs beside the work in it.", "loop_benchmark");
  app.add_option("--threads", threads)->check(CLI::Range(2, 256))->capture_default_str();
  if (const std::optional<int> exit_code = Parse(app, argc, argv)) return *exit_code;
  cpu::ThreadPool::Shared().Reserve(threads);
  std::printf("%14s %14s %14s\n", "work, us", "loop, us", "cost, us");
  for (const int length : {100, 1000, 10000, 100000}) {
    const double work = Measure(1, 1, length), loop = Measure(threads, threads, length);
    std::printf("%14.3f %14.3f %14.3f\n", work, loop, loop - work);
  }
  return 0;
}

}  // namespace
}  // namespace ashlar::benchmarks

int main(int argc, char** argv) { return ashlar::benchmarks::Main(argc, argv); }
