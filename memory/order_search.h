#ifndef ASHLAR_MEMORY_ORDER_SEARCH_H_
#define ASHLAR_MEMORY_ORDER_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "memory/exact_search.h"
#include "memory/instance.h"

namespace ashlar::memory {

// A complete search for instances of every kind, with overhangs, fixed offsets
// and mixed alignments, where ExactSearch is not; good for tens of groups.
//
// Decides of two rectangles that share a section which one is below. All
// decisions together are differences, "this base is at least that base plus so
// much", so they have a least solution; in it, two rectangles that still overlap
// are decided next, first those where either way pushes furthest. A branch is
// dead when a group is pushed out of the capacity or off its fixed base.
class OrderSearch {
 public:
  // Whether there are few enough pairs that could overlap.
  static bool Accepts(const Instance& instance);

  explicit OrderSearch(const Instance& instance);

  // kExhausted is a proof that nothing fits.
  SearchOutcome Run(int64_t capacity, int64_t node_limit, absl::Time deadline);

  const std::vector<int64_t>& bases() const { return bases_; }
  int64_t nodes() const { return nodes_; }  // Of the last run.

 private:
  // Rectangles of two groups that share a section: where the second lies above,
  // its base is at least the first's plus `second_above`; and the other way.
  struct Pair {
    int32_t first, second;  // Groups.
    int64_t second_above, first_above;
  };
  struct Edge {
    int32_t upper;
    int64_t distance;
  };
  struct Decision {
    size_t pair;
    bool second_above;
    bool last_way;  // The other way was tried before.
    size_t mark;    // Of the trail.
  };
  struct Change {
    int32_t group;
    int64_t base;  // Before.
  };

  bool FindOverlap(size_t& pair) const;
  int64_t Push(const Pair& pair, bool second_above) const;
  bool Apply(const Decision& decision);
  bool Raise(int32_t group, int64_t base);
  void TakeBack(const Decision& decision);
  bool Backtrack();

  const Instance& instance_;
  std::vector<Pair> pairs_;
  int64_t capacity_ = 0;
  int64_t nodes_ = 0;
  std::vector<int64_t> bases_;
  std::vector<std::vector<Edge>> above_;  // Decided, by lower group.
  std::vector<Decision> decisions_;
  std::vector<Change> trail_;
  std::vector<int32_t> queue_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_ORDER_SEARCH_H_
