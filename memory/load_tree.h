// What is still to be placed, by section: a segment tree of sums over ranges that knows where the
// largest is (Bentley 1977, "Solutions to Klee's Rectangle Problems").
#ifndef ASHLAR_MEMORY_LOAD_TREE_H_
#define ASHLAR_MEMORY_LOAD_TREE_H_

#include <cstdint>
#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// Bytes by section. Changes and questions take logarithmic time.
class LoadTree {
 public:
  explicit LoadTree(const std::vector<int64_t>& load);

  // Adds bytes to the sections [begin, end).
  void Add(int32_t begin, int32_t end, int64_t bytes);
  // The section of [begin, end) with the most, the first of equals.
  int32_t Fullest(int32_t begin, int32_t end) const;

 private:
  struct Node {
    int64_t bytes;    // The most below, but for what was added to the nodes above.
    int64_t added;    // To all below.
    int32_t section;  // That has the most.
  };

  void Pull(size_t node);

  size_t leaves_ = 1;
  std::vector<Node> nodes_;  // A heap: children of i are 2i and 2i + 1.
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_LOAD_TREE_H_
