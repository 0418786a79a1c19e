#include "tools/report/processor_share.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace ashlar {
namespace {

constexpr std::chrono::milliseconds kTime(50);

double ThreadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Computes for a while and returns the share of the time during which the thread had a processor.
double ShareOfThread() {
  const auto start = std::chrono::steady_clock::now();
  const double before = ThreadSeconds();
  std::chrono::duration<double> taken(0);
  while (taken < kTime) taken = std::chrono::steady_clock::now() - start;
  return (ThreadSeconds() - before) / taken.count();
}

}  // namespace

double ShareOfProcessors(int threads) {
  std::vector<double> shares(static_cast<size_t>(threads), 0);
  std::vector<std::thread> running;
  for (double& share : shares) running.emplace_back([&share] { share = ShareOfThread(); });
  for (std::thread& thread : running) thread.join();
  return *std::min_element(shares.begin(), shares.end());
}

}  // namespace ashlar
