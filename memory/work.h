// Counted work: the clock of searches. It stands still while the machine is busy with something
// else, so that equal problems have equal plans on every machine.
#ifndef ASHLAR_MEMORY_WORK_H_
#define ASHLAR_MEMORY_WORK_H_

#include <cstdint>

namespace ashlar::memory {

// A search spends units as it goes; a unit is about a nanosecond (of an AMD EPYC, Zen 4), by
// constants that stand where it is spent.
class Work {
 public:
  void Spend(int64_t units) { spent_ += units; }
  int64_t spent() const { return spent_; }

 private:
  int64_t spent_ = 0;
};

inline constexpr int64_t kWorkPerMillisecond = 1'000'000;
inline constexpr int64_t kEndlessWork = INT64_MAX;

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_WORK_H_
