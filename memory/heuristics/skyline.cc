#include "memory/heuristics/skyline.h"

#include <algorithm>

namespace ashlar::memory {

Skyline::Skyline(const std::vector<int64_t>& levels)
    : sections_(static_cast<int32_t>(levels.size())), at_(levels.size() + 1) {
  int32_t previous = -1;
  for (int32_t begin = 0; begin < sections_;) {
    int32_t end = begin + 1;
    while (end < sections_ && levels[end] == levels[begin]) ++end;
    at_[begin] = {end, previous, levels[begin]};
    previous = begin;
    begin = end;
  }
}

Skyline::Range Skyline::Valley() {
  while (true) {
    const Entry& entry = at_[current_];
    if (entry.previous >= 0 && at_[entry.previous].level < entry.level) {
      current_ = entry.previous;
    } else if (entry.end < sections_ && at_[entry.end].level < entry.level) {
      current_ = entry.end;
    } else {
      return {current_, entry.end, entry.level};
    }
  }
}

void Skyline::Split(int32_t begin, int32_t at) {
  const int32_t end = at_[begin].end;
  if (at == begin || at == end) return;
  at_[at] = {end, begin, at_[begin].level};
  at_[begin].end = at;
  if (end < sections_) at_[end].previous = at;
}

void Skyline::JoinWithNext(int32_t begin) {
  const int32_t next = at_[begin].end;
  if (next >= sections_ || at_[next].level != at_[begin].level) return;
  at_[begin].end = at_[next].end;
  at_[next].end = 0;
  if (at_[begin].end < sections_) at_[at_[begin].end].previous = begin;
}

int32_t Skyline::JoinWithPrevious(int32_t begin) {
  const int32_t previous = at_[begin].previous;
  if (previous < 0 || at_[previous].level != at_[begin].level) return begin;
  JoinWithNext(previous);
  return previous;
}

void Skyline::Raise(int32_t begin, int32_t end, int64_t level) {
  int32_t from = current_;
  while (from > begin) from = at_[from].previous;
  while (at_[from].end <= begin) from = at_[from].end;
  for (int32_t at = begin; at < end; at = from = at_[from].end) {
    if (at_[from].level >= level) continue;
    Split(from, at);
    if (at_[at].end > end) Split(at, end);
    at_[at].level = level;
    // Ranges stay maximal: adjacent equal ones are joined immediately.
    from = JoinWithPrevious(at);
    if (at_[from].end >= end) JoinWithNext(from);
    current_ = from;
  }
}

void Skyline::RaiseToNeighbour(const Range& range) {
  const int32_t left = at_[range.begin].previous;
  int64_t level = INT64_MAX;
  if (left >= 0) level = at_[left].level;
  if (range.end < sections_) level = std::min(level, at_[range.end].level);
  at_[range.begin].level = level;
  JoinWithNext(range.begin);
  current_ = JoinWithPrevious(range.begin);
}

}  // namespace ashlar::memory
