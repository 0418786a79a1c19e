#include "memory/portfolio.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
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
// Above it pushdown takes seconds, for which there must be time left.
constexpr int kQuickPushdown = 100000;
// Dives where nothing else follows, and the least where exact search does.
constexpr int64_t kAttempts = 1000;
constexpr int kFewAttempts = 12;

class Best {
 public:
  Best(const Instance& instance, int64_t lower_bound, const SearchLimits& limits)
      : instance_(instance), good_enough_(std::max(lower_bound, limits.capacity.value_or(0))) {}

  // True if the search may stop.
  bool Offer(std::vector<int64_t> bases, const std::string& planner) {
    const int64_t arena = instance_.Arena(bases);
    if (result_.bases.empty() || arena < result_.arena) {
      result_ = {std::move(bases), arena, planner, 0};
    }
    return result_.arena <= good_enough_;
  }

  Placement Take() { return std::move(result_); }

  int64_t good_enough() const { return good_enough_; }

  // By search in the rest of the time.
  Placement Improve(int64_t lower_bound, SearchLimits limits, absl::Time deadline) {
    limits.time = deadline - absl::Now();
    if (result_.arena > good_enough_ && limits.time > absl::ZeroDuration()) {
      ImproveByExactSearch(instance_, lower_bound, limits, result_);
    }
    return Take();
  }

 private:
  const Instance& instance_;
  int64_t good_enough_;
  Placement result_;
};

bool OfferFirstFits(const Instance& instance, Best& best) {
  for (DivePriority priority : {DivePriority::kHeight, DivePriority::kArea}) {
    const std::vector<int32_t> order = DiveOrder(instance, priority);
    if (best.Offer(PlaceFirstFit(instance, order), "first_fit")) return true;
  }
  return false;
}

// At least one dive; then on until `attempts`, the nodes or the time are used up.
bool OfferDives(const Instance& instance, int64_t attempts, const SearchLimits& limits,
                absl::Time deadline, Best& best) {
  attempts = std::min(attempts, limits.nodes / std::max(1, instance.groups()));
  SqueakyWheel wheel(instance, best.good_enough());
  do {
    std::vector<int64_t> bases = wheel.Next(deadline);
    if (bases.empty()) return false;  // the time was up in the middle of a dive
    if (best.Offer(std::move(bases), "dive")) return true;
  } while (--attempts > 0 && absl::Now() < deadline);
  return false;
}

// The best within the capacity; where nothing fits, the search would have aimed too high, and the
// best of all is looked for in as much time again.
template <typename Place>
Placement WithinCapacity(int64_t lower_bound, const SearchLimits& limits, Place place) {
  Placement placement = place(limits);
  const int64_t capacity = limits.capacity.value_or(INT64_MAX);
  const bool smallest = placement.arena <= std::max(lower_bound, placement.proven_bound);
  if (placement.arena <= capacity || capacity <= lower_bound || smallest) return placement;
  SearchLimits any = limits;
  any.capacity.reset();
  Placement other = place(any);
  const int64_t proven_bound = std::max(placement.proven_bound, other.proven_bound);
  if (other.arena < placement.arena) placement = std::move(other);
  placement.proven_bound = proven_bound;
  return placement;
}

Placement PlaceAsPortfolio(const Instance& instance, int64_t lower_bound,
                           const SearchLimits& limits) {
  const absl::Time start = absl::Now();
  // Dives take all the time where exact search cannot follow.
  const bool exact = ExactSearch::Accepts(instance) || OrderSearch::Accepts(instance);
  const int64_t attempts = exact ? std::max(kFewAttempts, instance.groups() / 16) : kAttempts;
  const absl::Time dive_deadline = start + limits.time / (exact ? 2 : 1);
  Best best(instance, lower_bound, limits);
  const bool few = instance.groups() <= kFewGroups;
  const bool very_few = instance.groups() <= kVeryFewGroups;
  if ((very_few && OfferFirstFits(instance, best)) ||
      OfferDives(instance, attempts, limits, dive_deadline, best)) {
    return best.Take();
  }
  const bool pushdown = instance.groups() <= kQuickPushdown || absl::Now() < start + limits.time;
  if ((pushdown && best.Offer(PlacePushdown(instance), "pushdown")) ||
      (few && best.Offer(PlaceBestFit(instance), "best_fit")) ||
      (very_few && best.Offer(PlaceIntervalMove(instance), "interval_move"))) {
    return best.Take();
  }
  return best.Improve(lower_bound, limits, start + limits.time);
}

}  // namespace

Placement PlaceByPortfolio(const Instance& instance, int64_t lower_bound,
                           const SearchLimits& limits) {
  return WithinCapacity(lower_bound, limits, [&](const SearchLimits& some) {
    return PlaceAsPortfolio(instance, lower_bound, some);
  });
}

Placement PlaceByFirstFits(const Instance& instance, int64_t lower_bound,
                           const SearchLimits& limits) {
  Best best(instance, lower_bound, limits);
  OfferFirstFits(instance, best);
  return best.Take();
}

Placement PlaceByDives(const Instance& instance, int64_t lower_bound, const SearchLimits& limits) {
  return WithinCapacity(lower_bound, limits, [&](const SearchLimits& some) {
    Best best(instance, lower_bound, some);
    OfferDives(instance, kAttempts, some, absl::Now() + some.time, best);
    return best.Take();
  });
}

Placement PlaceByExactSearch(const Instance& instance, int64_t lower_bound,
                             const SearchLimits& limits) {
  return WithinCapacity(lower_bound, limits, [&](const SearchLimits& some) {
    const absl::Time deadline = absl::Now() + some.time;
    Best best(instance, lower_bound, some);
    OfferDives(instance, 1, some, deadline, best);
    return best.Improve(lower_bound, some, deadline);
  });
}

}  // namespace ashlar::memory
