#include "memory/heuristics/squeaky_wheel.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "memory/heuristics/dive.h"

namespace ashlar::memory {
namespace {

// First fit takes quadratic time.
constexpr int kMaxHoleGroups = 20000;
// A group that ended too high moves forward by this fraction of its rank.
constexpr double kWheelForward = 0.3;
// The fractions by which ranks are shaken.
constexpr double kWheelShakes[] = {0.2, 0.05};
// The fractions of the arena that are refilled, from the top.
constexpr double kDepths[] = {1, 1, 1, 0.5, 0.25, 0.1, 0.1, 0.05};
// The number of ranges in which groups are shaken around a group that ended too high. Half the time
// the range is all sections, otherwise all of them, a half, a quarter, ...
constexpr uint32_t kWheelWidths = 8;
// Work per group to prepare and judge an attempt.
constexpr int64_t kWheelGroupWork = 30;
constexpr DiveRule kRules[] = {DiveRule::kFirst, DiveRule::kFullestSection};

}  // namespace

SqueakyWheel::SqueakyWheel(const Instance& instance, int64_t target)
    : instance_(instance),
      target_(target),
      plain_(std::size(kDivePriorities) * (instance.has_fixed() ? 1 : std::size(kRules))),
      index_(instance) {}

void SqueakyWheel::Judge(const std::vector<int64_t>& bases, Result& result) const {
  result = {bases, instance_.Arena(bases), 0, {}};
  for (int32_t g = 0; g < instance_.groups(); ++g) {
    const double excess = instance_.Excess(g, bases[g], target_);
    if (excess > 0) result.high.push_back(g);
    result.excess += excess;
  }
}

std::vector<int64_t> SqueakyWheel::Place(const Line& line, absl::Span<const int32_t> order,
                                         double depth, Work& work, int64_t deadline) const {
  const bool holes = instance_.has_fixed() || (!instance_.all_flat() && attempts_ % 2 == 1);
  if (holes && instance_.groups() <= kMaxHoleGroups) {
    if (!first_fit_) first_fit_.emplace(instance_);
    return first_fit_->PlaceAll(order, work);
  }
  if (depth == 1 || instance_.has_fixed()) {
    return PlaceDive(instance_, index_, order, line.rule, EmptyDive(instance_), work, deadline);
  }
  const std::vector<int64_t>& bases = line.best.bases;
  const int64_t cut = static_cast<int64_t>(static_cast<double>(target_) * (1 - depth));
  std::vector<int32_t> above;
  for (int32_t g : order) {
    if (bases[g] >= cut) above.push_back(g);
  }
  return PlaceDive(instance_, index_, above, line.rule, DiveAbove(instance_, bases, cut), work,
                   deadline);
}

std::vector<int32_t> SqueakyWheel::Learn(const Line& line, double shake, int32_t width) {
  int32_t begin = 0;
  int32_t end = instance_.sections();
  if (!line.best.high.empty()) {
    const int32_t g = line.best.high[random_() % line.best.high.size()];
    begin = instance_.begin(g) - width;
    end = instance_.end(g) + width;
  }
  std::vector<std::pair<double, int32_t>> keyed;
  keyed.reserve(line.order.size());
  for (size_t rank = 0; rank < line.order.size(); ++rank) {
    const int32_t g = line.order[rank];
    double key = static_cast<double>(rank);
    if (instance_.begin(g) < end && begin < instance_.end(g)) {
      if (line.best.bases[g] + instance_.height(g) > target_) key *= 1 - kWheelForward;
      key *= 1 + shake * (random_() * 0x1p-32 - 0.5);
    }
    keyed.push_back({key, g});
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int32_t> order;
  order.reserve(keyed.size());
  for (const auto& [key, g] : keyed) order.push_back(g);
  return order;
}

std::vector<int64_t> SqueakyWheel::Next(Work& work, int64_t deadline) {
  const size_t priorities = std::size(kDivePriorities);
  const int64_t attempt = attempts_++;
  if (attempt == 0) deadline = kEndlessWork;
  if (lines_.size() < plain_) {
    Line line;
    line.order = DiveOrder(instance_, kDivePriorities[lines_.size() % priorities]);
    line.rule = kRules[lines_.size() / priorities];
    std::vector<int64_t> bases = Place(line, line.order, 1, work, deadline);
    if (bases.empty()) return {};
    Judge(bases, line.best);
    lines_.push_back(std::move(line));
    return bases;
  }
  // Every second attempt goes to the best line, the others to all lines in turn.
  size_t chosen = static_cast<size_t>(attempt / 2) % plain_;
  if (attempt % 2 == 0) {
    const bool by_arena = attempt % 4 == 0;
    const auto ahead = [by_arena](const Line& a, const Line& b) {
      return by_arena ? a.best.arena < b.best.arena : a.best.excess < b.best.excess;
    };
    chosen = std::min_element(lines_.begin(), lines_.end(), ahead) - lines_.begin();
  }
  Line& line = lines_[chosen];
  work.Spend(kWheelGroupWork * instance_.groups());
  const double depth = kDepths[random_() % std::size(kDepths)];
  const double shake = kWheelShakes[random_() % std::size(kWheelShakes)];
  const int32_t width = instance_.sections() >> (random_() % 2 == 0 ? 0 : random_() % kWheelWidths);
  std::vector<int32_t> order = Learn(line, shake, width);
  std::vector<int64_t> bases = Place(line, order, depth, work, deadline);
  if (bases.empty()) return {};
  Result result;
  Judge(bases, result);
  const bool better = line.rule == DiveRule::kFirst ? result.arena <= line.best.arena
                                                    : result.excess <= line.best.excess;
  if (better) {
    line.order = std::move(order);
    line.best = std::move(result);
  }
  return bases;
}

}  // namespace ashlar::memory
