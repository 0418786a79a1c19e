// The bytes left to place, by section: a segment tree of range sums that finds the largest (Bentley
// 1977, "Solutions to Klee's Rectangle Problems").
#ifndef ASHLAR_MEMORY_PROBLEM_LOAD_TREE_H_
#define ASHLAR_MEMORY_PROBLEM_LOAD_TREE_H_

#include <cstdint>
#include <vector>

#include "memory/problem/instance.h"

namespace ashlar::memory {

// Bytes by section. Updates and queries take logarithmic time.
class LoadTree {
 public:
  explicit LoadTree(const std::vector<int64_t>& load);

  // Adds bytes to the sections [begin, end).
  void Add(int32_t begin, int32_t end, int64_t bytes);
  // Returns the section of [begin, end) with the most bytes, the first of equals.
  int32_t Fullest(int32_t begin, int32_t end) const;

 private:
  struct Node {
    int64_t bytes;    // the most in the subtree, without bytes added to nodes above
    int64_t added;    // to the whole subtree
    int32_t section;  // the section with the most
  };

  void Pull(size_t node);

  size_t leaves_ = 1;
  std::vector<Node> nodes_;  // a heap: children of i are 2i and 2i + 1
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_LOAD_TREE_H_
