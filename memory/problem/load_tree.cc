#include "memory/problem/load_tree.h"

namespace ashlar::memory {

LoadTree::LoadTree(const std::vector<int64_t>& load) {
  while (leaves_ < load.size()) leaves_ *= 2;
  nodes_.resize(2 * leaves_);
  for (size_t s = 0; s < leaves_; ++s) {
    nodes_[leaves_ + s] = {s < load.size() ? load[s] : 0, 0, static_cast<int32_t>(s)};
  }
  for (size_t node = leaves_; node-- > 1;) Pull(node);
}

void LoadTree::Pull(size_t node) {
  const Node& left = nodes_[2 * node];
  const Node& right = nodes_[2 * node + 1];
  const Node& larger = left.bytes >= right.bytes ? left : right;
  nodes_[node].bytes = larger.bytes + nodes_[node].added;
  nodes_[node].section = larger.section;
}

void LoadTree::Add(int32_t begin, int32_t end, int64_t bytes) {
  size_t low = leaves_ + begin;
  size_t high = leaves_ + end;
  const size_t first = low;
  const size_t last = high - 1;
  for (; low < high; low /= 2, high /= 2) {
    for (const size_t node : {low & 1 ? low++ : 0, high & 1 ? --high : 0}) {
      nodes_[node].bytes += bytes;
      nodes_[node].added += bytes;
    }
  }
  for (size_t node = first / 2; node > 0; node /= 2) Pull(node);
  for (size_t node = last / 2; node > 0; node /= 2) Pull(node);
}

int32_t LoadTree::Fullest(int32_t begin, int32_t end) const {
  // From the leaves up: the best value so far at each side, including bytes added above it.
  struct Side {
    int64_t bytes = INT64_MIN;
    int32_t section = 0;
    void Take(const Node& node) {
      if (node.bytes > bytes || (node.bytes == bytes && node.section < section)) {
        bytes = node.bytes;
        section = node.section;
      }
    }
  };
  Side left, right;
  size_t low = leaves_ + begin;
  size_t high = leaves_ + end - 1;
  left.Take(nodes_[low]);
  right.Take(nodes_[high]);
  while (low / 2 != high / 2) {
    if (low % 2 == 0) left.Take(nodes_[low + 1]);
    if (high % 2 == 1) right.Take(nodes_[high - 1]);
    low /= 2;
    high /= 2;
    left.bytes += nodes_[low].added;
    right.bytes += nodes_[high].added;
  }
  return left.bytes >= right.bytes ? left.section : right.section;
}

}  // namespace ashlar::memory
