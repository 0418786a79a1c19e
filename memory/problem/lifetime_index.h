// A k-d tree over lifetimes (Bentley 1975, "Multidimensional binary search trees used for
// associative searching"). Each node stores the lowest rank of its subtree.
#ifndef ASHLAR_MEMORY_PROBLEM_LIFETIME_INDEX_H_
#define ASHLAR_MEMORY_PROBLEM_LIFETIME_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "memory/problem/instance.h"

namespace ashlar::memory {

// Finds the first group, by rank, that lives entirely within given sections, while groups are
// removed. The points of the tree are (begin, end); O(n) memory.
class LifetimeIndex {
 public:
  explicit LifetimeIndex(const Instance& instance);

  // Fills the index with these groups, ranked by position.
  void Fill(absl::Span<const int32_t> order);
  // Returns the lowest-ranked group with begin <= its begin and its end <= end; -1 if there is
  // none.
  int32_t First(int32_t begin, int32_t end) const;
  // Like First, but only for groups that live at the section `at`.
  int32_t FirstAt(int32_t at, int32_t begin, int32_t end) const;
  void Remove(int32_t group);

 private:
  struct Node {
    int32_t min_begin, max_begin, min_end, max_end;
    int32_t min_rank;
  };
  // Ranges of births and deaths, both ends included.
  struct Lifetimes {
    int32_t first_begin, last_begin, first_end, last_end;
  };
  struct Point {
    int32_t begin, end, rank, group;
  };

  void Build(size_t node, size_t low, size_t high, const Instance& instance);
  void Search(size_t node, const Lifetimes& wanted, int32_t& best) const;
  void UpdateLeaf(size_t node);

  size_t leaves_ = 1;
  std::vector<Node> nodes_;        // a heap: children of i are 2i and 2i + 1
  std::vector<Point> points_;      // in the order of the leaves
  std::vector<int32_t> leaf_low_;  // leaves + 1: the points of each leaf
  std::vector<int32_t> place_;     // by group: its index in points_
  std::vector<int32_t> leaf_;      // by group
  std::vector<int32_t> order_;     // rank to group
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_LIFETIME_INDEX_H_
