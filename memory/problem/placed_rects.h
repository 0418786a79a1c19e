// Placed rectangles, in lists by position in time and length. Each rectangle is in one list. The
// rectangles that live in a range of time are in few lists. Like the buckets of Bentley and
// Friedman 1979, "Data Structures for Range Searching", with one level for each power of two.
#ifndef ASHLAR_MEMORY_PROBLEM_PLACED_RECTS_H_
#define ASHLAR_MEMORY_PROBLEM_PLACED_RECTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/problem/instance.h"
#include "memory/problem/rect.h"

namespace ashlar::memory {

// Rectangles at absolute addresses: Rect::bottom and Rect::top are bytes of the arena.
class PlacedRects {
 public:
  explicit PlacedRects(int32_t sections);

  void Add(const Rect& rect);
  // Removes the rectangle that was added last.
  void RemoveLast();
  size_t size() const { return added_.size(); }

  // Calls `take` with each rectangle that lives in a section of [begin, end).
  template <typename Take>
  void ForEach(int32_t begin, int32_t end, Take take) const {
    for (size_t k = 0; k < counts_.size(); ++k) {
      if (counts_[k] == 0) continue;
      const int32_t first = std::max(0, begin - (int32_t{1} << k) + 1) >> k;
      const int32_t last = (end - 1) >> k;
      for (int32_t list = first; list <= last; ++list) {
        for (const Rect& rect : lists_[first_list_[k] + list]) {
          if (rect.begin < end && begin < rect.end) take(rect);
        }
      }
    }
  }

 private:
  // A list for each range of 2^k sections, with the rectangles of up to 2^k sections that begin in
  // it.
  std::vector<std::vector<Rect>> lists_;
  std::vector<int32_t> first_list_;  // by k
  std::vector<int32_t> counts_;      // by k
  // The list of each rectangle, in the order of additions.
  struct Place {
    int32_t k, list;
  };
  std::vector<Place> added_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_PLACED_RECTS_H_
