#include "memory/exact/order_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "memory/problem/lower_bound.h"
#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

constexpr size_t kMaxRects = 8000;
constexpr size_t kMaxPairs = 2'000'000;
// Work per examined pair, and how many pairs count as one more node.
constexpr int64_t kPairWork = 4;
constexpr int64_t kPairsPerNode = 2'000;
// Pairs that are judged together once one of them has changed.
constexpr int32_t kBlock = 64;

// A rectangle of a group.
struct Piece {
  Rect rect;
  int32_t group;
};

// Returns all rectangles, sorted by their first section.
std::vector<Piece> PiecesByBirth(const Instance& instance) {
  std::vector<Piece> pieces;
  for (int32_t g = 0; g < instance.groups(); ++g) {
    for (const Rect& r : instance.rects(g)) pieces.push_back({r, g});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.rect.begin != b.rect.begin ? a.rect.begin < b.rect.begin : a.group < b.group;
  });
  return pieces;
}

// Calls `take` with every two rectangles of different groups that share a section and are not both
// fixed, until it returns false.
template <typename Take>
void ForEachPair(const Instance& instance, Take take) {
  std::vector<Piece> live;
  for (const Piece& piece : PiecesByBirth(instance)) {
    live.erase(std::remove_if(live.begin(), live.end(),
                              [&](const Piece& p) { return p.rect.end <= piece.rect.begin; }),
               live.end());
    for (const Piece& other : live) {
      if (other.group == piece.group) continue;
      if (instance.fixed(other.group) >= 0 && instance.fixed(piece.group) >= 0) continue;
      if (!take(other, piece)) return;
    }
    live.push_back(piece);
  }
}

}  // namespace

bool OrderSearch::Accepts(const Instance& instance) {
  if (instance.all_rects().size() > kMaxRects) return false;
  size_t pairs = 0;
  ForEachPair(instance, [&](const Piece&, const Piece&) { return ++pairs <= kMaxPairs; });
  return pairs <= kMaxPairs;
}

OrderSearch::OrderSearch(const Instance& instance) : instance_(instance) {
  for (int32_t g = 0; g < instance.groups(); ++g) {
    if (instance.height(g) == 0) continue;
    groups_.push_back(g);
    if (instance.alignment(g) > 1) unit_ = std::gcd(unit_, instance.alignment(g));
    unit_ = std::gcd(unit_, instance.residue(g));
    if (instance.fixed(g) >= 0) unit_ = std::gcd(unit_, instance.fixed(g));
    for (const Rect& r : instance.rects(g)) unit_ = std::gcd(std::gcd(unit_, r.bottom), r.top);
  }
  unit_ = std::max<int64_t>(unit_, 1);
  FindParts();
  FindPairs();
  FindBlocks();
}

void OrderSearch::FindParts() {
  std::sort(groups_.begin(), groups_.end(), [&](int32_t a, int32_t b) {
    return std::pair(instance_.begin(a), a) < std::pair(instance_.begin(b), b);
  });
  int32_t end = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(groups_.size()); ++i) {
    if (i == 0 || instance_.begin(groups_[i]) >= end) parts_.push_back({i, i, 0, 0});
    parts_.back().last_group = i + 1;
    end = std::max(end, instance_.end(groups_[i]));
  }
}

void OrderSearch::FindPairs() {
  // Parts follow each other in time, so pairs are ordered by part.
  std::vector<int32_t> part_of(instance_.groups(), 0);
  for (size_t p = 0; p < parts_.size(); ++p) {
    for (int32_t i = parts_[p].first_group; i < parts_[p].last_group; ++i) {
      part_of[groups_[i]] = static_cast<int32_t>(p);
    }
  }
  first_pair_of_.assign(instance_.groups() + 1, 0);
  ForEachPair(instance_, [&](const Piece& a, const Piece& b) {
    Part& part = parts_[part_of[a.group]];
    const int32_t index = static_cast<int32_t>(pairs_.size());
    if (part.last_pair == 0) part.first_pair = index;
    part.last_pair = index + 1;
    pairs_.push_back({a.group, b.group, a.rect.top - b.rect.bottom, b.rect.top - a.rect.bottom});
    ++first_pair_of_[a.group + 1];
    ++first_pair_of_[b.group + 1];
    return true;
  });
  std::partial_sum(first_pair_of_.begin(), first_pair_of_.end(), first_pair_of_.begin());
  pairs_of_.resize(2 * pairs_.size());
  std::vector<int32_t> fill(first_pair_of_.begin(), first_pair_of_.end() - 1);
  for (int32_t p = 0; p < static_cast<int32_t>(pairs_.size()); ++p) {
    pairs_of_[fill[pairs_[p].first]++] = p;
    pairs_of_[fill[pairs_[p].second]++] = p;
  }
  failures_.assign(pairs_.size(), 1);
  const std::vector<int64_t> load = SectionLoads(instance_);
  const auto fullest = [&](const Part& part) {
    int64_t bytes = 0;
    for (int32_t i = part.first_group; i < part.last_group; ++i) {
      bytes = std::max(bytes, load[instance_.begin(groups_[i])]);
    }
    return bytes;
  };
  std::stable_sort(parts_.begin(), parts_.end(),
                   [&](const Part& a, const Part& b) { return fullest(a) > fullest(b); });
}

int64_t OrderSearch::AlignDown(int32_t group, int64_t offset) const {
  return offset - ((offset - instance_.residue(group)) & (instance_.alignment(group) - 1));
}

bool OrderSearch::Possible(const Pair& pair, Order order) const {
  return order == kSecondAbove ? low_[pair.first] + pair.second_above <= high_[pair.second]
                               : low_[pair.second] + pair.first_above <= high_[pair.first];
}

void OrderSearch::FindBlocks() {
  blocks_.resize((pairs_.size() + kBlock - 1) / kBlock);
  first_block_of_.push_back(0);
  for (int32_t g = 0; g < instance_.groups(); ++g) {
    for (int32_t k = first_pair_of_[g]; k < first_pair_of_[g + 1]; ++k) {
      const int32_t block = pairs_of_[k] / kBlock;  // pairs of a group are in order
      const bool known = static_cast<int32_t>(blocks_of_.size()) > first_block_of_.back() &&
                         blocks_of_.back() == block;
      if (!known) blocks_of_.push_back(block);
    }
    first_block_of_.push_back(static_cast<int32_t>(blocks_of_.size()));
  }
}

// Finds the preferred pair among [first, last), the first of equals.
void OrderSearch::Judge(int32_t first, int32_t last, Block& block) const {
  block = {0, 0, kOpen, false};
  for (int32_t p = first; p < last; ++p) {
    if (order_[p] != kOpen) continue;  // does not overlap
    const int64_t up = low_[pairs_[p].first] + pairs_[p].second_above - low_[pairs_[p].second];
    const int64_t down = low_[pairs_[p].second] + pairs_[p].first_above - low_[pairs_[p].first];
    const int64_t push = std::min(up, down);
    if (push <= 0) continue;
    const double score = static_cast<double>(push) * failures_[p];
    if (score > block.score) block = {score, p, up <= down ? kSecondAbove : kFirstAbove, false};
  }
}

// Finds an overlapping pair to decide next, and the order of it that pushes less. All pairs count
// as examined, so that a result does not depend on how many were.
bool OrderSearch::FindOverlap(const Part& part, int32_t& pair, Order& order) {
  Spend(part.last_pair - part.first_pair);
  double furthest = 0;
  for (int32_t first = part.first_pair / kBlock * kBlock; first < part.last_pair; first += kBlock) {
    Block& block = blocks_[first / kBlock];
    if (block.changed) {
      Judge(std::max(first, part.first_pair), std::min(first + kBlock, part.last_pair), block);
    }
    if (block.score <= furthest) continue;
    furthest = block.score;
    pair = block.pair;
    order = block.order;
  }
  return furthest > 0;
}

void OrderSearch::SetOrder(int32_t pair, Order order) {
  order_[pair] = order;
  blocks_[pair / kBlock].changed = true;
  trail_.Add(Change::kOrder, pair, 0);
}

void OrderSearch::Fail(int32_t pair) {
  failures_[pair] += 1;
  blocks_[pair / kBlock].changed = true;
}

void OrderSearch::SetLowTo(int32_t group, int64_t base) {
  low_[group] = base;
  for (int32_t k = first_block_of_[group]; k < first_block_of_[group + 1]; ++k) {
    blocks_[blocks_of_[k]].changed = true;
  }
}

bool OrderSearch::SetLow(int32_t group, int64_t base) {
  base = instance_.AlignUp(group, base);
  if (base <= low_[group]) return true;
  trail_.Add(Change::kLow, group, low_[group]);
  SetLowTo(group, base);
  if (!queued_[group]) queue_.push_back(group);
  queued_[group] = 1;
  return base <= high_[group];
}

bool OrderSearch::SetHigh(int32_t group, int64_t base) {
  base = AlignDown(group, base);
  if (base >= high_[group]) return true;
  trail_.Add(Change::kHigh, group, high_[group]);
  high_[group] = base;
  if (!queued_[group]) queue_.push_back(group);
  queued_[group] = 1;
  return low_[group] <= base;
}

bool OrderSearch::Enforce(int32_t p, Order order) {
  const Pair& pair = pairs_[p];
  return order == kSecondAbove ? SetLow(pair.second, low_[pair.first] + pair.second_above) &&
                                     SetHigh(pair.first, high_[pair.second] - pair.second_above)
                               : SetLow(pair.first, low_[pair.second] + pair.first_above) &&
                                     SetHigh(pair.second, high_[pair.first] - pair.first_above);
}

// Updates the pair after the bounds of one of its groups changed.
bool OrderSearch::Visit(int32_t p) {
  if (order_[p] == kOpen) {
    const bool up = Possible(pairs_[p], kSecondAbove);
    const bool down = Possible(pairs_[p], kFirstAbove);
    if (up && down) return true;
    if (!up && !down) return false;
    SetOrder(p, up ? kSecondAbove : kFirstAbove);
  }
  return Enforce(p, static_cast<Order>(order_[p]));
}

// This terminates because bounds only move towards each other.
bool OrderSearch::Propagate() {
  bool possible = true;
  for (size_t next = 0; next < queue_.size(); ++next) {
    const int32_t group = queue_[next];
    queued_[group] = 0;
    Spend(first_pair_of_[group + 1] - first_pair_of_[group]);
    possible = possible && !gave_up_;
    for (int32_t k = first_pair_of_[group]; k < first_pair_of_[group + 1] && possible; ++k) {
      possible = Visit(pairs_of_[k]);
      if (!possible) Fail(pairs_of_[k]);
    }
  }
  queue_.clear();
  return possible;
}

bool OrderSearch::Decide(int32_t pair, Order order) {
  SetOrder(pair, order);
  const bool possible = Enforce(pair, order);
  if (!possible) Fail(pair);
  // Always runs, because it empties the queue.
  return Propagate() && possible;
}

void OrderSearch::TakeBack(size_t mark) {
  trail_.TakeBack(mark, [this](const Trail<Change>::Change& change) {
    if (change.kind == Change::kOrder) {
      order_[change.index] = kOpen;
      blocks_[change.index / kBlock].changed = true;
    } else if (change.kind == Change::kLow) {
      SetLowTo(change.index, change.before);
    } else {
      high_[change.index] = change.before;
    }
  });
}

// Reverses the last decision that can be reversed; returns false if there is none.
bool OrderSearch::Backtrack() {
  while (!decisions_.empty() && !gave_up_) {
    Decision& decision = decisions_.back();
    TakeBack(decision.mark);
    if (decision.last_way) {
      decisions_.pop_back();
      continue;
    }
    decision.order = decision.order == kSecondAbove ? kFirstAbove : kSecondAbove;
    decision.last_way = true;
    if (Decide(decision.pair, decision.order)) return true;
  }
  return false;
}

void OrderSearch::Spend(int64_t pairs) {
  pairs_to_node_ += pairs;
  nodes_ += pairs_to_node_ / kPairsPerNode;
  pairs_to_node_ %= kPairsPerNode;
  work_->Spend(kPairWork * pairs);
  gave_up_ = gave_up_ || nodes_ > node_limit_ || work_->spent() > deadline_;
}

SearchOutcome OrderSearch::Solve(const Part& part) {
  decisions_.clear();
  trail_.Clear();
  for (int32_t p = part.first_pair; p < part.last_pair; p += kBlock) {
    blocks_[p / kBlock].changed = true;
  }
  if (part.last_pair > part.first_pair) blocks_[(part.last_pair - 1) / kBlock].changed = true;
  queue_.assign(groups_.begin() + part.first_group, groups_.begin() + part.last_group);
  for (int32_t g : queue_) queued_[g] = 1;
  const auto failed = [&] { return gave_up_ ? SearchOutcome::kGaveUp : SearchOutcome::kExhausted; };
  if (!Propagate()) return failed();
  int32_t pair = 0;
  Order order = kOpen;
  while (FindOverlap(part, pair, order)) {
    if (gave_up_) return failed();
    ++nodes_;
    decisions_.push_back({pair, order, false, trail_.mark()});
    if (!Decide(pair, order) && !Backtrack()) return failed();
  }
  return SearchOutcome::kFound;
}

SearchOutcome OrderSearch::Run(int64_t capacity, int64_t node_limit, Work& work, int64_t deadline) {
  nodes_ = 0;
  node_limit_ = node_limit;
  work_ = &work;
  deadline_ = deadline;
  gave_up_ = false;
  low_.resize(instance_.groups());
  high_.resize(instance_.groups());
  order_.assign(pairs_.size(), kOpen);
  queued_.assign(instance_.groups(), 0);
  for (int32_t g = 0; g < instance_.groups(); ++g) {
    const bool fixed = instance_.fixed(g) >= 0;
    low_[g] = fixed ? instance_.fixed(g) : instance_.AlignUp(g, 0);
    if (instance_.height(g) == 0) continue;
    if (low_[g] + instance_.height(g) > capacity) return SearchOutcome::kExhausted;
    high_[g] = fixed ? low_[g] : AlignDown(g, capacity - instance_.height(g));
  }
  for (const Part& part : parts_) {
    const SearchOutcome outcome = Solve(part);
    if (outcome != SearchOutcome::kFound) return outcome;
  }
  return SearchOutcome::kFound;
}

}  // namespace ashlar::memory
