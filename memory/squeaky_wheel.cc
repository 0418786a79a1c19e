#include "memory/squeaky_wheel.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "memory/dive.h"
#include "memory/first_fit.h"

namespace ashlar::memory {
namespace {

// First fit takes quadratic time.
constexpr int kMaxHoleGroups = 20000;
// By how much of its rank a group moves forward that ended too high.
constexpr double kForward = 0.3;
// How much ranks are shaken, in turn.
constexpr double kShakes[] = {0.2, 0.05};

}  // namespace

SqueakyWheel::SqueakyWheel(const Instance& instance, int64_t target)
    : instance_(instance), target_(target), index_(instance) {}

std::vector<int64_t> SqueakyWheel::Place(absl::Span<const int32_t> order, Work& work,
                                         int64_t deadline) const {
  const bool holes = instance_.has_fixed() || (!instance_.all_flat() && attempts_ % 2 == 1);
  const bool first_fit = holes && instance_.groups() <= kMaxHoleGroups;
  return first_fit ? PlaceFirstFit(instance_, order, work)
                   : PlaceDive(instance_, index_, order, work, deadline);
}

std::vector<int32_t> SqueakyWheel::Learn(const Line& line, double shake) {
  std::vector<std::pair<double, int32_t>> keyed;
  keyed.reserve(line.order.size());
  for (size_t rank = 0; rank < line.order.size(); ++rank) {
    const int32_t g = line.order[rank];
    double key = static_cast<double>(rank);
    if (line.bases[g] + instance_.height(g) > target_) key *= 1 - kForward;
    key *= 1 + shake * (random_() * 0x1p-32 - 0.5);
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
  if (lines_.size() < priorities) {
    Line& line = lines_.emplace_back();
    line.order = DiveOrder(instance_, kDivePriorities[lines_.size() - 1]);
    line.bases = Place(line.order, work, deadline);
    if (line.bases.empty()) return {};
    line.arena = instance_.Arena(line.bases);
    return line.bases;
  }
  // Every second attempt goes to the line that is ahead, the others to all in turn.
  size_t chosen = static_cast<size_t>(attempt / 2) % priorities;
  if (attempt % 2 == 0) {
    const auto ahead = [](const Line& a, const Line& b) { return a.arena < b.arena; };
    chosen = std::min_element(lines_.begin(), lines_.end(), ahead) - lines_.begin();
  }
  Line& line = lines_[chosen];
  std::vector<int32_t> order = Learn(line, kShakes[attempt / 8 % std::size(kShakes)]);
  std::vector<int64_t> bases = Place(order, work, deadline);
  if (bases.empty()) return {};
  const int64_t arena = instance_.Arena(bases);
  if (arena <= line.arena) line = {std::move(order), bases, arena};
  return bases;
}

}  // namespace ashlar::memory
