#include "memory/problem/lifetime_index.h"

#include <algorithm>

namespace ashlar::memory {
namespace {

constexpr int32_t kNoRank = INT32_MAX;
constexpr size_t kPointsPerLeaf = 8;

}  // namespace

LifetimeIndex::LifetimeIndex(const Instance& instance) {
  points_.reserve(instance.groups());
  for (int g = 0; g < instance.groups(); ++g) {
    points_.push_back({instance.begin(g), instance.end(g), kNoRank, g});
  }
  while (leaves_ * kPointsPerLeaf < points_.size()) leaves_ *= 2;
  nodes_.resize(2 * leaves_);
  leaf_low_.assign(leaves_ + 1, static_cast<int32_t>(points_.size()));
  place_.resize(points_.size());
  leaf_.resize(points_.size());
  Build(1, 0, points_.size(), instance);
}

void LifetimeIndex::Build(size_t node, size_t low, size_t high, const Instance& instance) {
  Node& box = nodes_[node];
  box = {INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, kNoRank};
  for (size_t i = low; i < high; ++i) {
    box.min_begin = std::min(box.min_begin, points_[i].begin);
    box.max_begin = std::max(box.max_begin, points_[i].begin);
    box.min_end = std::min(box.min_end, points_[i].end);
    box.max_end = std::max(box.max_end, points_[i].end);
  }
  if (node >= leaves_) {
    leaf_low_[node - leaves_] = static_cast<int32_t>(low);
    for (size_t i = low; i < high; ++i) {
      place_[points_[i].group] = static_cast<int32_t>(i);
      leaf_[points_[i].group] = static_cast<int32_t>(node);
    }
    return;
  }
  const size_t middle = (low + high) / 2;
  const bool by_begin = int64_t{box.max_begin} - box.min_begin > int64_t{box.max_end} - box.min_end;
  std::nth_element(points_.begin() + low, points_.begin() + middle, points_.begin() + high,
                   [by_begin](const Point& a, const Point& b) {
                     const int32_t key_a = by_begin ? a.begin : a.end;
                     const int32_t key_b = by_begin ? b.begin : b.end;
                     return key_a != key_b ? key_a < key_b : a.group < b.group;
                   });
  Build(2 * node, low, middle, instance);
  Build(2 * node + 1, middle, high, instance);
}

void LifetimeIndex::Fill(absl::Span<const int32_t> order) {
  order_.assign(order.begin(), order.end());
  for (Point& p : points_) p.rank = kNoRank;
  for (size_t rank = 0; rank < order_.size(); ++rank) {
    points_[place_[order_[rank]]].rank = static_cast<int32_t>(rank);
  }
  for (size_t node = leaves_; node < 2 * leaves_; ++node) UpdateLeaf(node);
  for (size_t node = leaves_ - 1; node > 0; --node) {
    nodes_[node].min_rank = std::min(nodes_[2 * node].min_rank, nodes_[2 * node + 1].min_rank);
  }
}

void LifetimeIndex::UpdateLeaf(size_t node) {
  int32_t min_rank = kNoRank;
  for (int32_t i = leaf_low_[node - leaves_]; i < leaf_low_[node - leaves_ + 1]; ++i) {
    min_rank = std::min(min_rank, points_[i].rank);
  }
  nodes_[node].min_rank = min_rank;
}

int32_t LifetimeIndex::First(int32_t begin, int32_t end) const {
  int32_t best = kNoRank;
  Search(1, {begin, INT32_MAX, INT32_MIN, end}, best);
  return best == kNoRank ? -1 : order_[best];
}

int32_t LifetimeIndex::FirstAt(int32_t at, int32_t begin, int32_t end) const {
  int32_t best = kNoRank;
  Search(1, {begin, at, at + 1, end}, best);
  return best == kNoRank ? -1 : order_[best];
}

void LifetimeIndex::Search(size_t node, const Lifetimes& wanted, int32_t& best) const {
  const Node& box = nodes_[node];
  if (box.min_rank >= best || box.max_begin < wanted.first_begin ||
      box.min_begin > wanted.last_begin || box.min_end > wanted.last_end ||
      box.max_end < wanted.first_end) {
    return;
  }
  const auto within = [&](int32_t min_begin, int32_t max_begin, int32_t min_end, int32_t max_end) {
    return min_begin >= wanted.first_begin && max_begin <= wanted.last_begin &&
           min_end >= wanted.first_end && max_end <= wanted.last_end;
  };
  if (within(box.min_begin, box.max_begin, box.min_end, box.max_end)) {
    best = box.min_rank;
    return;
  }
  if (node >= leaves_) {
    for (int32_t i = leaf_low_[node - leaves_]; i < leaf_low_[node - leaves_ + 1]; ++i) {
      const Point& p = points_[i];
      if (p.rank < best && within(p.begin, p.begin, p.end, p.end)) best = p.rank;
    }
    return;
  }
  const size_t first = nodes_[2 * node].min_rank <= nodes_[2 * node + 1].min_rank ? 0 : 1;
  Search(2 * node + first, wanted, best);
  Search(2 * node + 1 - first, wanted, best);
}

void LifetimeIndex::Remove(int32_t group) {
  points_[place_[group]].rank = kNoRank;
  size_t node = leaf_[group];
  UpdateLeaf(node);
  for (node /= 2; node > 0; node /= 2) {
    const int32_t rank = std::min(nodes_[2 * node].min_rank, nodes_[2 * node + 1].min_rank);
    if (nodes_[node].min_rank == rank) break;
    nodes_[node].min_rank = rank;
  }
}

}  // namespace ashlar::memory
