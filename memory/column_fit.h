// First fit whose order begins with what lives at the fullest section, and learns as "Squeaky
// Wheel" Optimization does (Joslin and Clements 1999, under that title).
#ifndef ASHLAR_MEMORY_COLUMN_FIT_H_
#define ASHLAR_MEMORY_COLUMN_FIT_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "memory/dive.h"
#include "memory/first_fit.h"
#include "memory/instance.h"
#include "memory/work.h"

namespace ashlar::memory {

// Where most bytes live at once nothing may be wasted: what lives there is stacked first, as a
// column without gaps, and all else goes into what is left beside it, and under what overhangs.
//
// Then attempts: groups that ended above the target move forward in the order, some that live near
// one of them are shaken, and the plan is placed anew from the first whose place in the order
// changed. An attempt is given up as soon as more stands above the target than did before, over
// time, which is mostly soon. What is no worse stays.
//
// There are lines of attempts, by how the column and the others are ordered at first; a line begins
// when those before no longer get better. The sequence is the same on every machine.
class ColumnFit {
 public:
  // More groups than that take seconds.
  static constexpr int kMaxGroups = 20000;

  // `target`: bytes, the arena that is hoped for.
  ColumnFit(const Instance& instance, int64_t target);

  // One attempt. True where bases() is another plan than before. Where `work` has spent as much as
  // `deadline` in the middle of it, it is as if it had not been tried.
  bool Next(Work& work, int64_t deadline = kEndlessWork);
  // Of the last attempt's line.
  const std::vector<int64_t>& bases() const { return lines_[current_].fit.bases(); }

 private:
  struct Line {
    explicit Line(const Instance& instance) : fit(instance) {}

    FirstFit fit;
    std::vector<int32_t> order;
    double excess = 0;          // bytes x sections above the target
    std::vector<int32_t> high;  // the groups that reach there
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
  int patience_ = 0;  // attempts until the next line, where none gets better
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_COLUMN_FIT_H_
