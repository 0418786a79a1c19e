#include "memory/exact.h"

#include <algorithm>
#include <vector>

#include "memory/dive.h"
#include "memory/exact_search.h"
#include "memory/order_search.h"

namespace ashlar::memory {
namespace {

// In the order of how often each leads straight to a plan.
constexpr DivePriority kOrders[] = {DivePriority::kLoadThenWide, DivePriority::kHeight,
                                    DivePriority::kArea, DivePriority::kLoadThenArea};
// Of the first round, for each group.
constexpr double kNodesPerGroup = 2;
constexpr double kGrowth = 1.5;
constexpr double kMaxNodes = 1e15;
// Capacities that a round tries between the bound and the best plan.
constexpr int kHalvings = 6;

// The best plan so far, and the work that may still be spent on a better one.
class Effort {
 public:
  // To the deadline of `work`.
  Effort(const Instance& instance, int64_t lower_bound, const SearchLimits& limits, Work& work,
         int64_t deadline, Solution& solution)
      : instance_(instance),
        work_(work),
        deadline_(deadline),
        solution_(solution),
        good_enough_(std::max(lower_bound, limits.capacity.value_or(0))),
        bound_(good_enough_),
        nodes_left_(limits.nodes) {}

  // Nothing below is looked for: the wanted arena, or what a search excluded.
  int64_t bound() const { return bound_; }
  int64_t arena() const { return solution_.arena; }
  int64_t nodes_left() const { return std::max<int64_t>(nodes_left_, 0); }
  bool Done() const {
    return solution_.arena <= bound_ || nodes_left_ <= 0 || work_.spent() >= deadline_;
  }

  // One run of a search within a capacity. `next_arena`: the smallest that is left if nothing fits.
  template <typename Search, typename... Arguments>
  SearchOutcome Run(Search& search, int64_t capacity, int64_t next_arena, double nodes,
                    const Arguments&... arguments) {
    const int64_t node_limit = std::min(static_cast<int64_t>(nodes), nodes_left_);
    const SearchOutcome outcome = search.Run(capacity, arguments..., node_limit, work_, deadline_);
    nodes_left_ -= search.nodes() + 1;
    if (outcome == SearchOutcome::kExhausted) {
      bound_ = std::max(bound_, std::min(solution_.arena, next_arena));
    }
    if (outcome == SearchOutcome::kFound) {
      const int64_t arena = instance_.Arena(search.bases());
      if (arena < solution_.arena) solution_ = {search.bases(), arena, "exact", 0};
    }
    return outcome;
  }

  // What the searches excluded, if they were complete.
  void Prove() {
    if (bound_ > good_enough_) solution_.proven_bound = bound_;
  }

 private:
  const Instance& instance_;
  Work& work_;
  const int64_t deadline_;
  Solution& solution_;
  int64_t good_enough_;
  int64_t bound_;
  int64_t nodes_left_;
};

// Capacities at the bound, then between it and the best plan, in rounds. `run(capacity, nodes)` is
// one search.
template <typename Search, typename Run>
void Improve(const Instance& instance, const Search& search, Effort& effort, Run run) {
  double nodes = kNodesPerGroup * instance.groups();
  for (; !effort.Done(); nodes = std::min(kGrowth * nodes, kMaxNodes)) {
    run(effort.bound(), nodes);
    int64_t low = effort.bound();
    for (int i = 0; i < kHalvings && !effort.Done(); ++i) {
      const int64_t middle = low + (effort.arena() - low) / 2;
      if (search.NextArena(middle) >= effort.arena()) break;
      if (run(middle, nodes) != SearchOutcome::kFound) low = middle;
    }
  }
}

void ImproveBySearch(const Instance& instance, ExactSearch& search, Effort& effort) {
  std::vector<std::vector<int32_t>> ranks;
  for (DivePriority priority : kOrders) {
    std::vector<int32_t>& rank = ranks.emplace_back(instance.groups(), 0);
    int32_t next = 0;
    for (int32_t g : DiveOrder(instance, priority)) rank[g] = next++;
  }
  // Every rule with every order, until one knows.
  Improve(instance, search, effort, [&](int64_t capacity, double nodes) {
    for (BranchRule rule : kBranchRules) {
      for (const std::vector<int32_t>& rank : ranks) {
        if (effort.Done()) return SearchOutcome::kGaveUp;
        const SearchOutcome outcome =
            effort.Run(search, capacity, search.NextArena(capacity), nodes, rule, rank);
        if (outcome != SearchOutcome::kGaveUp) return outcome;
      }
    }
    return SearchOutcome::kGaveUp;
  });
}

void ImproveBySearch(const Instance& instance, OrderSearch& search, Effort& effort) {
  Improve(instance, search, effort, [&](int64_t capacity, double nodes) {
    return effort.Run(search, capacity, search.NextArena(capacity), nodes);
  });
}

}  // namespace

void ImproveByExactSearch(const Instance& instance, int64_t lower_bound, const SearchLimits& limits,
                          Work& work, Solution& solution) {
  // One in `shares` of what those before it left.
  int64_t nodes = limits.nodes;
  const auto improve = [&](auto& search, int shares) {
    SearchLimits share = limits;
    const int64_t left = std::max<int64_t>(limits.work - work.spent(), 0);
    share.nodes = nodes / shares;
    Effort effort(instance, lower_bound, share, work, work.spent() + left / shares, solution);
    ImproveBySearch(instance, search, effort);
    nodes -= share.nodes - effort.nodes_left();
    if (search.complete()) effort.Prove();
  };
  const bool by_order = OrderSearch::Accepts(instance);
  if (ExactSearch::Accepts(instance)) {
    ExactSearch search(instance, Alignment::kKept);
    const int others = !search.complete() && by_order ? 1 : 0;
    if (ExactSearch::RoundingMatters(instance)) {
      improve(search, 4);
      ExactSearch rounded(instance, Alignment::kRounded);
      improve(rounded, 2 + others);
    }
    improve(search, 1 + others);
    if (search.complete()) return;
  }
  if (!by_order) return;
  OrderSearch search(instance);
  improve(search, 1);
}

}  // namespace ashlar::memory
