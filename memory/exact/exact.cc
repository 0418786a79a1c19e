#include "memory/exact/exact.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "memory/exact/exact_search.h"
#include "memory/exact/order_search.h"
#include "memory/heuristics/dive.h"

namespace ashlar::memory {
namespace {

// Ordered by how often each leads directly to a plan.
constexpr DivePriority kOrders[] = {DivePriority::kLoadThenWide, DivePriority::kHeight,
                                    DivePriority::kArea, DivePriority::kLoadThenArea};
// Node limit of the first round, per group.
constexpr double kNodesPerGroup = 2;
constexpr double kGrowth = 1.5;
constexpr double kMaxNodes = 1e15;
// The number of capacities that a round tries below the best plan, and the first step: this
// fraction of the distance to the bound. Each success doubles the step, each failure halves it.
constexpr int kSteps = 6;
constexpr int kFirstStep = 16;

// The best plan so far, and the work that may still be spent on a better one.
class Effort {
 public:
  // `deadline`: of `work`.
  Effort(const Instance& instance, int64_t lower_bound, const SearchLimits& limits, Work& work,
         int64_t deadline, Solution& solution)
      : instance_(instance),
        work_(work),
        deadline_(deadline),
        solution_(solution),
        good_enough_(std::max(lower_bound, limits.capacity.value_or(0))),
        bound_(good_enough_),
        nodes_left_(limits.nodes) {}

  // Returns the limit below which nothing is searched: the wanted arena, or the bound that a search
  // proved.
  int64_t bound() const { return bound_; }
  int64_t arena() const { return solution_.arena; }
  int64_t nodes_left() const { return std::max<int64_t>(nodes_left_, 0); }
  bool Done() const {
    return solution_.arena <= bound_ || nodes_left_ <= 0 || work_.spent() >= deadline_;
  }

  // Runs a search within a capacity. `next_arena`: the smallest possible arena if nothing fits.
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

  // Stores the bound that the searches proved, if they were complete.
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

// Searches in rounds: at the bound, then in steps below the best plan. Steps grow with success, so
// that nearby plans are found soon. `run(capacity, nodes)` is one search.
template <typename Search, typename Run>
void Improve(const Instance& instance, const Search& search, Effort& effort, Run run) {
  double nodes = kNodesPerGroup * instance.groups();
  for (; !effort.Done(); nodes = std::min(kGrowth * nodes, kMaxNodes)) {
    run(effort.bound(), nodes);
    int64_t step = (effort.arena() - effort.bound()) / kFirstStep;
    for (int i = 0; i < kSteps && !effort.Done(); ++i) {
      step = std::clamp<int64_t>(step, 1, (effort.arena() - effort.bound() + 1) / 2);
      int64_t capacity = effort.arena() - step;
      // Arenas are multiples of a unit, and one at the bound has been tried.
      if (search.NextArena(capacity) >= effort.arena()) {
        capacity = effort.arena() - (search.NextArena(effort.arena()) - effort.arena());
        if (capacity <= effort.bound()) break;
      }
      const int64_t before = effort.arena();
      const bool found = run(capacity, nodes) == SearchOutcome::kFound;
      step = found ? 2 * std::max(step, before - effort.arena()) : step / 2;
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
  // Tries every rule with every order until one gets a result; that one is tried first next time.
  using Way = std::pair<BranchRule, const std::vector<int32_t>*>;
  std::vector<Way> ways;
  for (BranchRule rule : kBranchRules) {
    for (const std::vector<int32_t>& rank : ranks) ways.push_back({rule, &rank});
  }
  Improve(instance, search, effort, [&](int64_t capacity, double nodes) {
    for (size_t way = 0; way < ways.size() && !effort.Done(); ++way) {
      const auto [rule, rank] = ways[way];
      const SearchOutcome outcome =
          effort.Run(search, capacity, search.NextArena(capacity), nodes, rule, *rank);
      if (outcome == SearchOutcome::kGaveUp) continue;
      std::rotate(ways.begin(), ways.begin() + way, ways.begin() + way + 1);
      return outcome;
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
  // Gives a search one part in `shares` of the remaining nodes and work.
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
