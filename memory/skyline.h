// The skyline of an arena that is filled from the bottom, as Burke, Kendall and Whitwell (2004, "A
// New Placement Heuristic for the Orthogonal Stock-Cutting Problem") keep it: by section the
// height, in stretches of equal level; the next place is a valley.
#ifndef ASHLAR_MEMORY_SKYLINE_H_
#define ASHLAR_MEMORY_SKYLINE_H_

#include <cstdint>
#include <vector>

namespace ashlar::memory {

// The height up to which each section is filled, as maximal stretches of equal
// level.
class Skyline {
 public:
  // By section.
  explicit Skyline(const std::vector<int64_t>& levels);

  struct Stretch {
    int32_t begin, end;
    int64_t level;
  };
  // A stretch whose neighbours are higher, found by walking down from where the
  // last change was; so most calls are cheap and near in memory.
  Stretch Valley();
  // Lifts [begin, end) to at least `level`. The work is in proportion to the
  // stretches between it and the last change.
  void Raise(int32_t begin, int32_t end, int64_t level);
  // Lifts a stretch that has neighbours to the lower of them.
  void RaiseToNeighbour(const Stretch& stretch);

 private:
  struct Entry {
    int32_t end = 0;  // 0 where no stretch begins.
    int32_t previous = -1;
    int64_t level = 0;
  };

  void Split(int32_t begin, int32_t at);
  void JoinWithNext(int32_t begin);
  // Returns where the stretch now begins.
  int32_t JoinWithPrevious(int32_t begin);

  int32_t sections_;
  int32_t current_ = 0;    // Begins a stretch.
  std::vector<Entry> at_;  // By first section.
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_SKYLINE_H_
