// Counted work: the clock of searches. It stands still while the machine is busy with something
// else, so that equal problems have equal plans on every machine.
#ifndef ASHLAR_MEMORY_WORK_H_
#define ASHLAR_MEMORY_WORK_H_

#include <cstdint>
#include <stop_token>
#include <utility>

#include "memory/stop.h"

namespace ashlar::memory {

// A search spends units as it goes; a unit is about a nanosecond (of an AMD EPYC, Zen 4), by
// constants that stand where it is spent. Spending throws Stopped once a stop is requested.
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

#endif  // ASHLAR_MEMORY_WORK_H_
