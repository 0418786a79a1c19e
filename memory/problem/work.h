// Counted work: the clock of searches. It does not depend on the load of the machine, so equal
// problems have equal plans on every machine.
#ifndef ASHLAR_MEMORY_PROBLEM_WORK_H_
#define ASHLAR_MEMORY_PROBLEM_WORK_H_

#include <cstdint>
#include <stop_token>
#include <utility>

#include "memory/problem/stop.h"

namespace ashlar::memory {

// A counter of a search's work. A unit is about a nanosecond (of an AMD EPYC, Zen 4); the constants
// are next to the code that spends them. Spend throws Stopped after a stop was requested.
class Work {
 public:
  explicit Work(std::stop_token stop = {}) : stop_(std::move(stop)) {}
  void Spend(int64_t units) {
    spent_ += units;
    ThrowIfStopped(stop_);
  }
  int64_t spent() const { return spent_; }

 private:
  std::stop_token stop_;
  int64_t spent_ = 0;
};

inline constexpr int64_t kWorkPerMillisecond = 1'000'000;
inline constexpr int64_t kEndlessWork = INT64_MAX;

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_WORK_H_
