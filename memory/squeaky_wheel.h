// "Squeaky Wheel" Optimization (Joslin and Clements 1999, under that title) of the order in which
// groups are placed.
#ifndef ASHLAR_MEMORY_SQUEAKY_WHEEL_H_
#define ASHLAR_MEMORY_SQUEAKY_WHEEL_H_

#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "memory/dive.h"
#include "memory/instance.h"
#include "memory/lifetime_index.h"
#include "memory/work.h"

namespace ashlar::memory {

// Greedy placement again and again, each time with an order that learned from
// the last: groups that ended above the target move forward, and those that live near one of them
// are shaken a little. What stands low may stay, and only the upper part is placed anew: that is
// where it ends too high, and it takes a part of the time. Better is what has less above the
// target, over time and not only at its highest, so that small steps count; for half of the lines
// it is the smaller arena, as either alone gets stuck.
//
// Starts from each of the dive's priorities, with each of its rules. Places by dives; unless there
// are too many groups for it, by first fit where something is fixed, and by both in turn
// where groups have overhangs.
class SqueakyWheel {
 public:
  // `target`: bytes, the arena that is hoped for.
  SqueakyWheel(const Instance& instance, int64_t target);

  // The bases of one more attempt. The first ones are the plain priorities; the
  // sequence is the same on every machine. Nothing where a dive was not done when `work` had
  // spent as much as `deadline`, and then this was the last attempt; the very first has no
  // deadline.
  std::vector<int64_t> Next(Work& work, int64_t deadline = kEndlessWork);
  // Whether the plain priorities are behind.
  bool learns() const { return lines_.size() >= plain_; }

 private:
  struct Result {
    std::vector<int64_t> bases;
    int64_t arena = INT64_MAX;  // Bytes.
    double excess = 0;          // Bytes x sections above the target.
    std::vector<int32_t> high;  // The groups that reach there.
  };
  // One line of attempts, by the best order it has found.
  struct Line {
    std::vector<int32_t> order;
    DiveRule rule = DiveRule::kFirst;
    Result best;
  };

  void Judge(const std::vector<int64_t>& bases, Result& result) const;
  // `depth`: how much of the arena, from the top.
  std::vector<int64_t> Place(const Line& line, absl::Span<const int32_t> order, double depth,
                             Work& work, int64_t deadline) const;
  // `width`: sections.
  std::vector<int32_t> Learn(const Line& line, double shake, int32_t width);

  const Instance& instance_;
  int64_t target_;
  const size_t plain_;  // attempts with the plain priorities
  mutable LifetimeIndex index_;
  std::mt19937 random_;
  std::vector<Line> lines_;
  int64_t attempts_ = 0;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_SQUEAKY_WHEEL_H_
