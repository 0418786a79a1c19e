// Rectangles at addresses, in lists by where in time they are and how long: each rectangle is in
// one list, and those that live in some stretch of time are in few (as the buckets of Bentley and
// Friedman 1979, "Data Structures for Range Searching", with one level for each power of two).
#ifndef ASHLAR_MEMORY_PLACED_RECTS_H_
#define ASHLAR_MEMORY_PLACED_RECTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// At absolute addresses: Rect::bottom and Rect::top are bytes of the arena.
class PlacedRects {
 public:
  explicit PlacedRects(int32_t sections);

  void Add(const Rect& rect);
  // Takes away the one that was added last.
  void RemoveLast();
  size_t size() const { return added_.size(); }

  // Calls `take` with each that lives in some section of [begin, end).
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
  // A list for each stretch of 2^k sections, of those of up to 2^k that begin in it.
  std::vector<std::vector<Rect>> lists_;
  std::vector<int32_t> first_list_;  // by k
  std::vector<int32_t> counts_;      // by k
  // Where each was added.
  struct Place {
    int32_t k, list;
  };
  std::vector<Place> added_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PLACED_RECTS_H_
