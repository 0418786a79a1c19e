// First fit with a learned order that starts with the buffers live at the peak. Learns by "Squeaky
// Wheel" Optimization (Joslin and Clements 1999, under that title).
#ifndef ASHLAR_MEMORY_HEURISTICS_COLUMN_FIT_H_
#define ASHLAR_MEMORY_HEURISTICS_COLUMN_FIT_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "memory/heuristics/dive.h"
#include "memory/heuristics/first_fit.h"
#include "memory/problem/instance.h"
#include "memory/problem/work.h"

namespace ashlar::memory {

// At the section with the most live bytes, no byte may be wasted. Its groups are therefore stacked
// first, as a column without gaps. All other groups go into the space beside it and under
// overhangs.
//
// Then follow attempts. Each moves the groups that ended above the target forward in the order, and
// shakes some groups that live near one of them. It rebuilds the plan from the first group whose
// position changed. An attempt is abandoned as soon as its excess above the target over time
// exceeds the previous one, usually early. A result that is no worse is kept.
//
// Lines of attempts differ in the first order of the column and of the other groups. A new line
// begins when the earlier lines stop improving. The sequence is the same on every machine.
class ColumnFit {
 public:
  // The largest number of groups; more take seconds.
  static constexpr int kMaxGroups = 20000;

  // `target`: the wanted arena, in bytes.
  ColumnFit(const Instance& instance, int64_t target);

  // Makes one attempt; returns whether bases() has changed. If `work` reaches `deadline` during the
  // attempt, it is undone.
  bool Next(Work& work, int64_t deadline = kEndlessWork);
  // Returns the bases of the last attempt's line.
  const std::vector<int64_t>& bases() const { return lines_[current_].fit.bases(); }

 private:
  struct Line {
    explicit Line(const Instance& instance) : fit(instance) {}

    FirstFit fit;
    std::vector<int32_t> order;
    double excess = 0;          // bytes x sections above the target
    std::vector<int32_t> high;  // the groups with excess
  };

  bool Begin(Work& work, int64_t deadline);
  bool Improve(Line& line, Work& work, int64_t deadline);
  std::vector<int32_t> Learn(const Line& line);
  double ExcessOf(const Line& line, int32_t group) const {
    return instance_.Excess(group, line.fit.bases()[group], target_);
  }
  void Judge(Line& line) const;
  double Random() { return random_() * 0x1p-32; }  // [0, 1)

  const Instance& instance_;
  const int64_t target_;
  const int32_t fullest_;  // section
  std::mt19937 random_;
  std::vector<Line> lines_;
  size_t current_ = 0;
  int64_t attempts_ = 0;
  int patience_ = 0;  // attempts without improvement until the next line
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_COLUMN_FIT_H_
