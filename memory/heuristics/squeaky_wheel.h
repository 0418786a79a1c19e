// Improves the order in which groups are placed by "Squeaky Wheel" Optimization (Joslin and
// Clements 1999, under that title).
#ifndef ASHLAR_MEMORY_HEURISTICS_SQUEAKY_WHEEL_H_
#define ASHLAR_MEMORY_HEURISTICS_SQUEAKY_WHEEL_H_

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "memory/heuristics/dive.h"
#include "memory/heuristics/first_fit.h"
#include "memory/problem/instance.h"
#include "memory/problem/lifetime_index.h"
#include "memory/problem/work.h"

namespace ashlar::memory {

// Repeats greedy placement, each time with an order that learned from the last. Groups that ended
// above the target move forward, and groups that live near one of them are shaken a little. Usually
// only the upper part is placed again: this is the part that ends too high, and it takes a fraction
// of the time.
//
// Half of the lines compare plans by their excess above the target over time, so that small steps
// count. The other half compare arenas, because either criterion alone gets stuck.
//
// Starts from each of the dive's priorities, with each of its rules. Places by dives unless there
// are too many groups for them; by first fit if something is fixed; by both in turn if groups have
// overhangs.
class SqueakyWheel {
 public:
  // `target`: the wanted arena, in bytes.
  SqueakyWheel(const Instance& instance, int64_t target);

  // Returns the bases of one more attempt. The first attempts are the plain priorities; the
  // sequence is the same on every machine. Returns nothing if `work` reached `deadline` during a
  // dive; this was then the last attempt. The very first attempt has no deadline.
  std::vector<int64_t> Next(Work& work, int64_t deadline = kEndlessWork);
  // Returns whether the plain priorities are done.
  bool learns() const { return lines_.size() >= plain_; }

 private:
  struct Result {
    std::vector<int64_t> bases;
    int64_t arena = INT64_MAX;  // bytes
    double excess = 0;          // bytes x sections above the target
    std::vector<int32_t> high;  // the groups with excess
  };
  // A line of attempts, with the best order it has found.
  struct Line {
    std::vector<int32_t> order;
    DiveRule rule = DiveRule::kFirst;
    Result best;
  };

  void Judge(const std::vector<int64_t>& bases, Result& result) const;
  // `depth`: the fraction of the arena to place again, from the top.
  std::vector<int64_t> Place(const Line& line, absl::Span<const int32_t> order, double depth,
                             Work& work, int64_t deadline) const;
  // `width`: sections.
  std::vector<int32_t> Learn(const Line& line, double shake, int32_t width);

  const Instance& instance_;
  int64_t target_;
  const size_t plain_;  // attempts with the plain priorities
  mutable LifetimeIndex index_;
  mutable std::optional<FirstFit> first_fit_;  // kept for its memory
  std::mt19937 random_;
  std::vector<Line> lines_;
  int64_t attempts_ = 0;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_SQUEAKY_WHEEL_H_
