#include "memory/portfolio.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/exact/exact.h"
#include "memory/exact/exact_search.h"
#include "memory/exact/order_search.h"
#include "memory/heuristics/column_fit.h"
#include "memory/heuristics/dive.h"
#include "memory/heuristics/first_fit.h"
#include "memory/heuristics/online.h"
#include "memory/heuristics/parts.h"
#include "memory/heuristics/rounds.h"
#include "memory/heuristics/squeaky_wheel.h"
#include "memory/megengine/megengine_planners.h"
#include "memory/problem/lower_bound.h"

namespace ashlar::memory {
namespace {

// Above this many groups, planners with quadratic cost are skipped.
constexpr int kFewGroups = 3000, kVeryFewGroups = 300;
// Above this many groups, pushdown takes seconds and runs only if work is left.
constexpr int kQuickPushdown = 100000;
// The number of dives if nothing else follows, and the minimum if exact search follows.
constexpr int64_t kAttempts = 1000;
constexpr int kFewAttempts = 12;
// If rounds are alike: one part in this many of the work goes to the whole.
constexpr int64_t kRestOfRounds = 8;
// Parts get this share of the work for the whole, in addition.
constexpr int64_t kShareOfParts = 2;

class Best {
 public:
  Best(const Instance& instance, int64_t lower_bound, const SearchLimits& limits)
      : instance_(instance),
        lower_bound_(lower_bound),
        limits_(limits),
        good_enough_(std::max(lower_bound, limits.capacity.value_or(0))),
        work_(limits.stop) {}

  // Returns true if the search may stop.
  bool Offer(std::vector<int64_t> bases, const std::string& planner) {
    const int64_t arena = instance_.Arena(bases);
    if (result_.bases.empty() || arena < result_.arena) {
      result_ = {std::move(bases), arena, planner, result_.proven_bound, 0};
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

  // Improves the result by search until `work` reaches `deadline`.
  void Improve(int64_t deadline) {
    if (result_.arena <= good_enough_ || work_.spent() >= deadline) return;
    SearchLimits limits = limits_;
    limits.work = deadline;
    ImproveByExactSearch(instance_, lower_bound_, limits, work_, result_);
  }
  // Returns whether the result is good enough, or optimal.
  bool Done() const { return result_.arena <= std::max(good_enough_, result_.proven_bound); }

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

// Runs dives one after the other. With many groups, dives and column fits alternate, with equal
// work.
class Dives {
 public:
  Dives(const Instance& instance, const SearchLimits& limits, Best& best)
      : left_(limits.nodes / std::max(1, instance.groups())),
        best_(best),
        wheel_(instance, best.good_enough()) {
    if (instance.groups() > kVeryFewGroups && instance.groups() <= ColumnFit::kMaxGroups) {
      column_.emplace(instance, best.good_enough());
    }
  }

  // Runs at least one dive, then continues until `attempts`, the nodes or the work are used up.
  // Returns true if the search may stop.
  bool Offer(int64_t attempts, int64_t deadline, bool with_columns = true) {
    do {
      if (ended_) return with_columns && column_ && wheel_.learns() && OfferColumns(deadline);
      const int64_t before = best_.work().spent();
      std::vector<int64_t> bases = wheel_.Next(best_.work(), deadline);
      ended_ = bases.empty() || --left_ <= 0;  // empty: ended during a dive
      if (!bases.empty() && best_.Offer(std::move(bases), "dive")) return true;
      dives_ += best_.work().spent() - before;
      if (with_columns && column_ && wheel_.learns() && OfferColumns(deadline)) return true;
    } while (--attempts > 0 && best_.work().spent() < deadline);
    return false;
  }

 private:
  // Runs column fits until they have used as much work as dives.
  bool OfferColumns(int64_t deadline) {
    while (columns_ < dives_ && best_.work().spent() < deadline) {
      const int64_t before = best_.work().spent();
      const bool another = column_->Next(best_.work(), deadline);
      columns_ += best_.work().spent() - before;
      if (another && best_.Offer(column_->bases(), "first_fit")) return true;
    }
    return false;
  }

  int64_t left_;  // from the limit of nodes
  bool ended_ = false;
  Best& best_;
  SqueakyWheel wheel_;
  std::optional<ColumnFit> column_;
  int64_t dives_ = 0, columns_ = 0;  // work
};

// Plans one period with most of the work (half if its bound is larger than the whole's), then the
// whole problem, whose rounds may differ.
template <typename Place>
Solution InRounds(const Instance& instance, int64_t lower_bound, const SearchLimits& limits,
                  Place place) {
  const std::optional<FoldedInstance> round = FoldRounds(instance, lower_bound);
  if (!round) return place(instance, lower_bound, limits);
  const int64_t rest = round->lower_bound == lower_bound ? kRestOfRounds : 2;
  SearchLimits some = limits;
  some.work = limits.work - limits.work / rest;
  some.nodes = limits.nodes - limits.nodes / rest;
  Solution once = place(round->instance, round->lower_bound, some);
  once.bases = round->Unfold(once.bases);
  once.proven_bound = 0;  // it is only a bound of one round
  if (once.arena <= std::max(lower_bound, limits.capacity.value_or(0))) return once;
  some.work = limits.work - once.work;
  some.nodes = limits.nodes / rest;
  Solution whole = place(instance, lower_bound, some);
  whole.work += once.work;
  if (whole.arena < once.arena) return whole;
  once.work = whole.work;
  once.proven_bound = whole.proven_bound;
  return once;
}

// Plans the parts of an instance (memory/heuristics/parts.h) one after the other. The first is
// planned as well as possible. Each other has to fit beside it, and meets groups at one end that
// have bases. If it does not fit, it is planned without these bases, and then the part beyond that
// end with the bases that it got.
template <typename Place>
class PartByPart {
 public:
  PartByPart(const Instance& instance, const std::vector<TimePart>& parts,
             const SearchLimits& limits, Place place)
      : instance_(instance), parts_(parts), limits_(limits), place_(place), work_(limits.work) {}

  Solution Plan(int64_t lower_bound) {
    const std::vector<size_t> order = FullestFirst(instance_, parts_);
    std::vector<int64_t> bases(instance_.groups(), -1);
    Solution whole = PlanPart(order[0], limits_.capacity.value_or(0), kFirstShare, bases);
    int64_t arena = std::max({whole.arena, lower_bound, limits_.capacity.value_or(0)});
    size_t first = order[0], last = order[0];  // of the planned parts
    for (size_t i = 1; i < order.size(); ++i) {
      const size_t part = order[i], beside = part < first ? first : last;
      std::vector<int64_t> with = bases;
      const int64_t needed = PlanPart(part, arena, kShare, with).arena;
      if (needed > arena && !PlanBoth(part, beside, arena, bases, with)) arena = needed;
      bases = std::move(with);
      first = std::min(first, part);
      last = std::max(last, part);
    }
    for (int32_t g = 0; g < instance_.groups(); ++g) {
      if (bases[g] < 0) bases[g] = instance_.AlignUp(g, 0);  // without bytes
    }
    whole.arena = instance_.Arena(bases);
    whole.bases = std::move(bases);
    whole.work = limits_.work - work_;
    return whole;
  }

 private:
  // The first part has half of the work, and each other a share of the rest.
  static constexpr int64_t kFirstShare = 2, kShare = 4;

  // Gives bases to the groups of a part that have none.
  Solution PlanPart(size_t part, int64_t capacity, int64_t share, std::vector<int64_t>& bases) {
    const PartInstance some = MakePart(instance_, parts_[part], bases);
    SearchLimits limits = limits_;
    limits.work = std::max<int64_t>(0, work_) / share;
    if (capacity > 0) limits.capacity = capacity;
    Solution solution = place_(some.instance, ComputeLowerBound(some.instance).bytes, limits);
    work_ -= solution.work;
    for (size_t i = 0; i < some.groups.size(); ++i) bases[some.groups[i]] = solution.bases[i];
    return solution;
  }

  // Plans `part` without the bases of the groups that it shares with `beside`, then that one again.
  // `bases`: has none for groups of `part`. Returns whether both fit; then `with` has the new
  // bases.
  bool PlanBoth(size_t part, size_t beside, int64_t arena, const std::vector<int64_t>& bases,
                std::vector<int64_t>& with) {
    const TimePart &one = parts_[part], &other = parts_[beside];
    const TimePart both = {std::min(one.begin, other.begin), std::max(one.end, other.end)};
    const int32_t border = std::max(one.begin, other.begin);
    std::vector<int64_t> some = bases;
    for (int32_t g = 0; g < instance_.groups(); ++g) {
      const int32_t begin = instance_.begin(g), end = instance_.end(g);
      const bool across = begin < border && border < end;
      const bool within = both.begin <= begin && end <= both.end;
      if (across && !within) return false;
      if (across || (other.begin <= begin && end <= other.end)) some[g] = -1;
    }
    if (PlanPart(part, arena, kShare, some).arena > arena) return false;
    if (PlanPart(beside, arena, kShare, some).arena > arena) return false;
    with = std::move(some);
    return true;
  }

  const Instance& instance_;
  const std::vector<TimePart>& parts_;
  const SearchLimits& limits_;
  const Place place_;
  int64_t work_;  // that is left
};

// Plans part by part, then the whole if that may be smaller.
template <typename Place>
Solution InParts(const Instance& instance, int64_t lower_bound, const SearchLimits& limits,
                 Place place) {
  const std::vector<TimePart> parts = FindParts(instance);
  if (parts.size() < 2) return place(instance, lower_bound, limits);
  SearchLimits some = limits;
  some.work = limits.work / kShareOfParts;
  Solution by_part = PartByPart(instance, parts, some, place).Plan(lower_bound);
  if (by_part.arena <= std::max({lower_bound, by_part.proven_bound, limits.capacity.value_or(0)})) {
    return by_part;
  }
  Solution whole = place(instance, lower_bound, limits);
  if (whole.arena <= by_part.arena) return whole;
  by_part.work = whole.work;
  by_part.proven_bound = std::max(by_part.proven_bound, whole.proven_bound);
  return by_part;
}

// Finds the best plan within the capacity. If nothing fits, the search aimed too low; then it
// searches without a capacity, with the same work again.
template <typename Place>
Solution WithinCapacity(const Instance& instance, int64_t lower_bound, const SearchLimits& limits,
                        Place place_whole) {
  const auto place = [&](const SearchLimits& some) {
    return InRounds(instance, lower_bound, some, place_whole);
  };
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
  // If exact search is impossible, dives get all the work. Otherwise they get up to half of it
  // before exact search, and half as much again after it: exact search often fails with many
  // groups.
  const bool exact = ExactSearch::Accepts(instance) || OrderSearch::Accepts(instance);
  const int64_t attempts = exact ? std::max(kFewAttempts, instance.groups() / 16) : kAttempts;
  Best best(instance, lower_bound, limits);
  Dives dives(instance, limits, best);
  const bool few = instance.groups() <= kFewGroups;
  const bool very_few = instance.groups() <= kVeryFewGroups;
  if ((very_few && OfferFirstFits(instance, best)) ||
      dives.Offer(attempts, limits.work / (exact ? 2 : 1), !few)) {
    return best.Take();
  }
  const bool pushdown = instance.groups() <= kQuickPushdown || best.WorkIsLeft();
  if ((pushdown && best.Offer(PlacePushdown(instance), "pushdown")) ||
      (few && best.Offer(PlaceBestFit(instance), "best_fit")) ||
      (very_few && best.Offer(PlaceIntervalMove(instance), "interval_move"))) {
    return best.Take();
  }
  best.Improve(limits.work);
  const int64_t charged = best.work().spent();
  if (exact && !best.Done()) dives.Offer(kAttempts, charged + limits.work / 2);
  Solution solution = best.Take();
  solution.work = charged;  // so that the extra dives do not reduce the search of other orders
  return solution;
}

}  // namespace

Solution PlaceByPortfolio(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits) {
  return WithinCapacity(instance, lower_bound, limits,
                        [](const Instance& some, int64_t bound, const SearchLimits& some_limits) {
                          return InParts(some, bound, some_limits, PlaceAsPortfolio);
                        });
}

Solution PlaceByFirstFits(const Instance& instance, int64_t lower_bound,
                          const SearchLimits& limits) {
  Best best(instance, lower_bound, limits);
  OfferFirstFits(instance, best);
  return best.Take();
}

Solution PlaceByDives(const Instance& instance, int64_t lower_bound, const SearchLimits& limits) {
  return WithinCapacity(
      instance, lower_bound, limits,
      [](const Instance& some, int64_t bound, const SearchLimits& some_limits) {
        Best best(some, bound, some_limits);
        Dives(some, some_limits, best).Offer(kAttempts, some_limits.work, /*with_columns=*/false);
        return best.Take();
      });
}

Solution PlaceByExactSearch(const Instance& instance, int64_t lower_bound,
                            const SearchLimits& limits) {
  return WithinCapacity(instance, lower_bound, limits,
                        [](const Instance& some, int64_t bound, const SearchLimits& some_limits) {
                          Best best(some, bound, some_limits);
                          Dives(some, some_limits, best).Offer(1, some_limits.work);
                          best.Improve(some_limits.work);
                          return best.Take();
                        });
}

}  // namespace ashlar::memory
