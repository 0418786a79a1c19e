#include "memory/portfolio.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "memory/dive.h"
#include "memory/exact.h"
#include "memory/exact_search.h"
#include "memory/first_fit.h"
#include "memory/interval_move.h"
#include "memory/online.h"
#include "memory/order_search.h"
#include "memory/pushdown.h"
#include "memory/squeaky_wheel.h"

namespace ashlar::memory {
namespace {

// Planners of quadratic cost are left out above this many groups.
constexpr int kFewGroups = 3000;
constexpr int kVeryFewGroups = 300;
// Above it pushdown takes seconds, for which there must be work left.
constexpr int kQuickPushdown = 100000;
// Dives where nothing else follows, and the least where exact search does.
constexpr int64_t kAttempts = 1000;
constexpr int kFewAttempts = 12;

class Best {
 public:
  Best(const Instance& instance, int64_t lower_bound, const SearchLimits& limits)
      : instance_(instance),
        lower_bound_(lower_bound),
        limits_(limits),
        good_enough_(std::max(lower_bound, limits.capacity.value_or(0))) {}

  // True if the search may stop.
  bool Offer(std::vector<int64_t> bases, const std::string& planner) {
    const int64_t arena = instance_.Arena(bases);
    if (result_.bases.empty() || arena < result_.arena) {
      result_ = {std::move(bases), arena, planner, 0, 0};
    }
    return result_.arena <= good_enough_;
  }

  Solution Take() {
    result_.work = work_.spent();
    return std::move(result_);
  }

  Work& work() { return work_; }
  bool WorkIsLeft() const { return work_.spent() < limits_.work; }

  int64_t good_enough() const { return good_enough_; }

  // By search with the rest of the work.
  Solution Improve() {
    if (result_.arena > good_enough_ && WorkIsLeft()) {
      ImproveByExactSearch(instance_, lower_bound_, limits_, work_, result_);
    }
    return Take();
  }

 private:
  const Instance& instance_;
  const int64_t lower_bound_;
  const SearchLimits& limits_;
  const int64_t good_enough_;
  Work work_;
  Solution result_;
};

bool OfferFirstFits(const Instance& instance, Best& best) {
  for (DivePriority priority : {DivePriority::kHeight, DivePriority::kArea}) {
    const std::vector<int32_t> order = DiveOrder(instance, priority);
    if (best.Offer(PlaceFirstFit(instance, order, best.work()), "first_fit")) return true;
  }
  return false;
}

// At least one dive; then on until `attempts`, the nodes or the work are used up.
bool OfferDives(const Instance& instance, int64_t attempts, const SearchLimits& limits,
                int64_t deadline, Best& best) {
  attempts = std::min(attempts, limits.nodes / std::max(1, instance.groups()));
  SqueakyWheel wheel(instance, best.good_enough());
  do {
    std::vector<int64_t> bases = wheel.Next(best.work(), deadline);
    if (bases.empty()) return false;  // in the middle of a dive
    if (best.Offer(std::move(bases), "dive")) return true;
  } while (--attempts > 0 && best.work().spent() < deadline);
  return false;
}

// The best within the capacity; where nothing fits, the search would have aimed too high, and the
// best of all is looked for with as much work again.
template <typename Place>
Solution WithinCapacity(int64_t lower_bound, const SearchLimits& limits, Place place) {
  Solution solution = place(limits);
  const int64_t capacity = limits.capacity.value_or(INT64_MAX);
  const bool smallest = solution.arena <= std::max(lower_bound, solution.proven_bound);
  if (solution.arena <= capacity || capacity <= lower_bound || smallest) return solution;
  SearchLimits any = limits;
  any.capacity.reset();
  Solution other = place(any);
  const int64_t proven_bound = std::max(solution.proven_bound, other.proven_bound);
  const int64_t work = solution.work + other.work;
  if (other.arena < solution.arena) solution = std::move(other);
  solution.work = work;
  solution.proven_bound = proven_bound;
  return solution;
}

Solution PlaceAsPortfolio(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits) {
  // Dives take all the work where exact search cannot follow.
  const bool exact = ExactSearch::Accepts(instance) || OrderSearch::Accepts(instance);
  const int64_t attempts = exact ? std::max(kFewAttempts, instance.groups()) : kAttempts;
  const int64_t dive_deadline = limits.work / (exact ? 2 : 1);
  Best best(instance, lower_bound, limits);
  const bool few = instance.groups() <= kFewGroups;
  const bool very_few = instance.groups() <= kVeryFewGroups;
  if ((very_few && OfferFirstFits(instance, best)) ||
      OfferDives(instance, attempts, limits, dive_deadline, best)) {
    return best.Take();
  }
  const bool pushdown = instance.groups() <= kQuickPushdown || best.WorkIsLeft();
  if ((pushdown && best.Offer(PlacePushdown(instance), "pushdown")) ||
      (few && best.Offer(PlaceBestFit(instance), "best_fit")) ||
      (very_few && best.Offer(PlaceIntervalMove(instance), "interval_move"))) {
    return best.Take();
  }
  return best.Improve();
}

}  // namespace

Solution PlaceByPortfolio(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits) {
  return WithinCapacity(lower_bound, limits, [&](const SearchLimits& some) {
    return PlaceAsPortfolio(instance, lower_bound, some);
  });
}

Solution PlaceByFirstFits(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits) {
  Best best(instance, lower_bound, limits);
  OfferFirstFits(instance, best);
  return best.Take();
}

Solution PlaceByDives(const Instance& instance, int64_t lower_bound, const SearchLimits& limits) {
  return WithinCapacity(lower_bound, limits, [&](const SearchLimits& some) {
    Best best(instance, lower_bound, some);
    OfferDives(instance, kAttempts, some, some.work, best);
    return best.Take();
  });
}

Solution PlaceByExactSearch(const Instance& instance, int64_t lower_bound,
                            const SearchLimits& limits) {
  return WithinCapacity(lower_bound, limits, [&](const SearchLimits& some) {
    Best best(instance, lower_bound, some);
    OfferDives(instance, 1, some, some.work, best);
    return best.Improve();
  });
}

}  // namespace ashlar::memory
