// The length covered by a changing set of intervals. Uses a segment tree whose nodes count the
// intervals that cover them (Bentley 1977, "Solutions to Klee's rectangle problems").
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_COVERED_LENGTH_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_COVERED_LENGTH_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// The tree is built over the intervals' endpoints. Each change takes O(log n).
class CoveredLength {
 public:
  // `ends`: all endpoints of intervals to be added later, in any order.
  explicit CoveredLength(std::vector<int64_t> ends) : ends_(std::move(ends)) {
    std::sort(ends_.begin(), ends_.end());
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    tree_.resize(4 * std::max<size_t>(ends_.size(), 1));
  }

  // Adds [begin, end) if `change` is 1, removes it if -1.
  void Change(int64_t begin, int64_t end, int change) {
    if (begin < end) Change(1, 0, ends_.size() - 1, Index(begin), Index(end), change);
  }
  int64_t length() const { return tree_[1].covered; }

 private:
  struct Node {
    int count = 0;  // intervals that cover the whole node, but not all of its parent
    int64_t covered = 0;
  };

  size_t Index(int64_t end) const {
    return static_cast<size_t>(std::lower_bound(ends_.begin(), ends_.end(), end) - ends_.begin());
  }

  // The node covers the line from endpoint number `low` to number `high`.
  void Change(size_t node, size_t low, size_t high, size_t begin, size_t end, int change) {
    if (end <= low || high <= begin) return;
    Node& here = tree_[node];
    const size_t middle = (low + high) / 2;
    if (begin <= low && high <= end) {
      here.count += change;
    } else {
      Change(2 * node, low, middle, begin, end, change);
      Change(2 * node + 1, middle, high, begin, end, change);
    }
    if (here.count > 0) {
      here.covered = ends_[high] - ends_[low];
    } else {
      here.covered = high - low <= 1 ? 0 : tree_[2 * node].covered + tree_[2 * node + 1].covered;
    }
  }

  std::vector<int64_t> ends_;
  std::vector<Node> tree_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_COVERED_LENGTH_H_
