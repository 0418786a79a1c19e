// The skyline of an arena that is filled from the bottom (Burke, Kendall and Whitwell 2004, "A New
// Placement Heuristic for the Orthogonal Stock-Cutting Problem"): the height of each section, in
// ranges of equal level. The next place is a valley.
#ifndef ASHLAR_MEMORY_HEURISTICS_SKYLINE_H_
#define ASHLAR_MEMORY_HEURISTICS_SKYLINE_H_

#include <cstdint>
#include <vector>

namespace ashlar::memory {

// The height up to which each section is filled, as maximal ranges of equal level.
class Skyline {
 public:
  // `levels`: by section.
  explicit Skyline(const std::vector<int64_t>& levels);

  struct Range {
    int32_t begin, end;
    int64_t level;
  };
  // Returns a range whose neighbours are higher. Walks down from the last change, so most calls are
  // cheap and touch nearby memory.
  Range Valley();
  // Lifts [begin, end) to at least `level`. The work is proportional to the number of ranges
  // between it and the last change.
  void Raise(int32_t begin, int32_t end, int64_t level);
  // Lifts a range that has neighbours to the lower of them.
  void RaiseToNeighbour(const Range& range);

 private:
  struct Entry {
    int32_t end = 0;  // 0 if no range begins here
    int32_t previous = -1;
    int64_t level = 0;
  };

  void Split(int32_t begin, int32_t at);
  void JoinWithNext(int32_t begin);
  // Returns the new start of the range.
  int32_t JoinWithPrevious(int32_t begin);

  int32_t sections_;
  int32_t current_ = 0;    // the start of a range
  std::vector<Entry> at_;  // by first section
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_SKYLINE_H_
