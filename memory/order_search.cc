#include "memory/order_search.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace ashlar::memory {
namespace {

constexpr int kMaxRects = 300;
constexpr int64_t kNodesPerClock = 64;

}  // namespace

bool OrderSearch::Accepts(const Instance& instance) {
  return instance.all_rects().size() <= kMaxRects;
}

OrderSearch::OrderSearch(const Instance& instance) : instance_(instance) {
  for (int32_t i = 0; i < instance.groups(); ++i) {
    for (int32_t j = 0; j < i; ++j) {
      for (const Rect& a : instance.rects(j)) {
        for (const Rect& b : instance.rects(i)) {
          if (a.begin >= b.end || b.begin >= a.end) continue;
          if (instance.fixed(i) >= 0 && instance.fixed(j) >= 0) continue;
          pairs_.push_back({j, i, a.top - b.bottom, b.top - a.bottom});
        }
      }
    }
  }
}

// How far the upper group would move.
int64_t OrderSearch::Push(const Pair& pair, bool second_above) const {
  return second_above ? bases_[pair.first] + pair.second_above - bases_[pair.second]
                      : bases_[pair.second] + pair.first_above - bases_[pair.first];
}

bool OrderSearch::FindOverlap(size_t& pair) const {
  int64_t furthest = 0;
  for (size_t p = 0; p < pairs_.size(); ++p) {
    const int64_t push = std::min(Push(pairs_[p], true), Push(pairs_[p], false));
    if (push <= furthest) continue;
    furthest = push;
    pair = p;
  }
  return furthest > 0;
}

bool OrderSearch::Raise(int32_t group, int64_t base) {
  base = instance_.AlignUp(group, base);
  if (base <= bases_[group]) return true;
  if (instance_.fixed(group) >= 0 || base + instance_.height(group) > capacity_) return false;
  trail_.push_back({group, bases_[group]});
  bases_[group] = base;
  queue_.push_back(group);
  return true;
}

bool OrderSearch::Apply(const Decision& decision) {
  const Pair& pair = pairs_[decision.pair];
  const int32_t lower = decision.second_above ? pair.first : pair.second;
  const int32_t upper = decision.second_above ? pair.second : pair.first;
  const int64_t distance = decision.second_above ? pair.second_above : pair.first_above;
  above_[lower].push_back({upper, distance});
  queue_.clear();
  bool fits = Raise(upper, bases_[lower] + distance);
  // Ends: bases only grow, and none may leave the capacity.
  while (fits && !queue_.empty()) {
    const int32_t group = queue_.back();
    queue_.pop_back();
    for (const Edge& edge : above_[group]) {
      fits = fits && Raise(edge.upper, bases_[group] + edge.distance);
    }
  }
  return fits;
}

void OrderSearch::TakeBack(const Decision& decision) {
  const Pair& pair = pairs_[decision.pair];
  above_[decision.second_above ? pair.first : pair.second].pop_back();
  while (trail_.size() > decision.mark) {
    bases_[trail_.back().group] = trail_.back().base;
    trail_.pop_back();
  }
}

// Turns the last decision around that can be; false if there is none.
bool OrderSearch::Backtrack() {
  while (!decisions_.empty()) {
    Decision& decision = decisions_.back();
    TakeBack(decision);
    if (decision.last_way) {
      decisions_.pop_back();
      continue;
    }
    decision.second_above = !decision.second_above;
    decision.last_way = true;
    if (Apply(decision)) return true;
  }
  return false;
}

SearchOutcome OrderSearch::Run(int64_t capacity, int64_t node_limit, absl::Time deadline) {
  capacity_ = capacity;
  nodes_ = 0;
  decisions_.clear();
  trail_.clear();
  above_.assign(instance_.groups(), {});
  bases_.resize(instance_.groups());
  for (int32_t g = 0; g < instance_.groups(); ++g) {
    bases_[g] = instance_.fixed(g) >= 0 ? instance_.fixed(g) : instance_.AlignUp(g, 0);
    if (instance_.height(g) > 0 && bases_[g] + instance_.height(g) > capacity) {
      return SearchOutcome::kExhausted;
    }
  }
  for (size_t pair = 0; FindOverlap(pair);) {
    if (++nodes_ > node_limit || (nodes_ % kNodesPerClock == 0 && absl::Now() > deadline)) {
      return SearchOutcome::kGaveUp;
    }
    const bool second_above = Push(pairs_[pair], true) <= Push(pairs_[pair], false);
    decisions_.push_back({pair, second_above, false, trail_.size()});
    if (!Apply(decisions_.back()) && !Backtrack()) return SearchOutcome::kExhausted;
  }
  return SearchOutcome::kFound;
}

}  // namespace ashlar::memory
