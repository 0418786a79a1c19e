#include "memory/heuristics/column_fit.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "memory/problem/lower_bound.h"

namespace ashlar::memory {
namespace {

// How a column is ordered: longest life first; longest life before the fullest section first; after
// it; or on the longer side.
enum class ColumnOrder { kLife, kBefore, kBehind, kLongerSide };

struct LineStart {
  ColumnOrder column;
  DivePriority others;
};
constexpr LineStart kLines[] = {
    {ColumnOrder::kLife, DivePriority::kLoadThenArea},
    {ColumnOrder::kLife, DivePriority::kHeight},
    {ColumnOrder::kLongerSide, DivePriority::kLoadThenArea},
    {ColumnOrder::kBehind, DivePriority::kHeight},
    {ColumnOrder::kLife, DivePriority::kArea},
    {ColumnOrder::kLongerSide, DivePriority::kHeight},
    {ColumnOrder::kBehind, DivePriority::kLoadThenArea},
    {ColumnOrder::kBefore, DivePriority::kArea},
};
// Attempts without a better plan before another line begins.
constexpr int kPatience = 20;
// A group that ended too high moves forward by at most this fraction of its rank.
constexpr double kForward = 0.6;
// The number of ways to shake ranks: by a half, a quarter, ... of them.
constexpr uint32_t kShakes = 8;
// The number of ranges in which groups are shaken around a group that ended too high. Half the time
// the range is all sections, otherwise all of them, a half, a quarter, ...
constexpr uint32_t kWidths = 8;
// In the range, one group in this many is shaken.
constexpr uint32_t kSparse[] = {1, 4, 16};
// Work per group of an order that is made, and per group that is put back.
constexpr int64_t kOrderWork = 8, kPutBackWork = 40;

int32_t FullestSection(const Instance& instance) {
  const std::vector<int64_t> loads = SectionLoads(instance);
  return static_cast<int32_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
}

// Orders the groups that live at the section first.
std::vector<int32_t> OrderOf(const Instance& instance, int32_t section, const LineStart& start) {
  std::vector<int32_t> order = DiveOrder(instance, start.others);
  const auto column_end = std::stable_partition(order.begin(), order.end(), [&](int32_t g) {
    return instance.begin(g) <= section && section < instance.end(g);
  });
  const auto length = [&](int32_t g) {
    const int32_t before = section - instance.begin(g), behind = instance.end(g) - section;
    switch (start.column) {
      case ColumnOrder::kLife:
        break;
      case ColumnOrder::kBefore:
        return before;
      case ColumnOrder::kBehind:
        return behind;
      case ColumnOrder::kLongerSide:
        return std::max(before, behind);
    }
    return before + behind;
  };
  std::stable_sort(order.begin(), column_end,
                   [&](int32_t a, int32_t b) { return length(a) > length(b); });
  return order;
}

}  // namespace

ColumnFit::ColumnFit(const Instance& instance, int64_t target)
    : instance_(instance), target_(target), fullest_(FullestSection(instance)) {}

bool ColumnFit::Next(Work& work, int64_t deadline) {
  if (patience_ == 0 && lines_.size() < std::size(kLines)) return Begin(work, deadline);
  // Every second attempt goes to the best line, the others to all lines in turn.
  current_ = static_cast<size_t>(attempts_ / 2) % lines_.size();
  if (attempts_++ % 2 == 0) {
    const auto ahead =
        std::min_element(lines_.begin(), lines_.end(),
                         [](const Line& a, const Line& b) { return a.excess < b.excess; });
    current_ = static_cast<size_t>(ahead - lines_.begin());
  }
  Line& line = lines_[current_];
  if (line.high.empty()) return false;
  const double before = line.excess;
  if (!Improve(line, work, deadline)) {
    patience_ = std::max(0, patience_ - 1);
    return false;
  }
  if (line.excess < before) patience_ = kPatience;
  return true;
}

bool ColumnFit::Begin(Work& work, int64_t deadline) {
  Line line(instance_);
  line.order = OrderOf(instance_, fullest_, kLines[lines_.size()]);
  for (const int32_t g : line.order) {
    line.fit.Place(g, work);
    if (work.spent() >= deadline) return false;
  }
  Judge(line);
  current_ = lines_.size();
  lines_.push_back(std::move(line));
  patience_ = kPatience;
  return true;
}

bool ColumnFit::Improve(Line& line, Work& work, int64_t deadline) {
  std::vector<int32_t> order = Learn(line);
  work.Spend(kOrderWork * static_cast<int64_t>(order.size()));
  const auto [changed, in_line] = std::mismatch(order.begin(), order.end(), line.order.begin());
  if (changed == order.end()) return false;
  const size_t kept = static_cast<size_t>(changed - order.begin());
  double excess = 0;
  for (auto g = order.begin(); g != changed; ++g) excess += ExcessOf(line, *g);
  std::vector<int64_t> bases;  // the line's bases of the groups that are placed again
  for (auto g = in_line; g != line.order.end(); ++g) bases.push_back(line.fit.bases()[*g]);
  line.fit.TakeBack(kept);
  for (auto g = changed;; ++g) {
    if (excess > line.excess || work.spent() >= deadline) {
      line.fit.TakeBack(kept);
      for (size_t i = 0; i < bases.size(); ++i) line.fit.PlaceAt(line.order[kept + i], bases[i]);
      work.Spend(kPutBackWork * static_cast<int64_t>(bases.size()));
      return false;
    }
    if (g == order.end()) break;
    line.fit.Place(*g, work);
    excess += ExcessOf(line, *g);
  }
  line.order = std::move(order);
  Judge(line);
  return true;
}

std::vector<int32_t> ColumnFit::Learn(const Line& line) {
  const int32_t center = line.high[random_() % line.high.size()];
  const double shake = 1.0 / static_cast<double>(2u << random_() % kShakes);
  const int32_t width = instance_.sections() >> (random_() % 2 == 0 ? 0 : random_() % kWidths);
  const uint32_t sparse = kSparse[random_() % std::size(kSparse)];
  const int32_t begin = instance_.begin(center) - width, end = instance_.end(center) + width;
  std::vector<std::pair<double, int32_t>> moved;
  std::vector<int32_t> order;  // at first the unmoved groups
  std::vector<double> ranks;   // of the unmoved groups
  for (size_t rank = 0; rank < line.order.size(); ++rank) {
    const int32_t g = line.order[rank];
    const double place = static_cast<double>(rank + 1);
    double key = place;
    if (instance_.begin(g) < end && begin < instance_.end(g)) {
      if (ExcessOf(line, g) > 0) key *= 1 - kForward * Random();
      if (random_() % sparse == 0) key *= 1 + shake * (Random() - 0.5);
    }
    if (key == place) {
      order.push_back(g);
      ranks.push_back(key);
    } else {
      moved.push_back({key, g});
    }
  }
  std::sort(moved.begin(), moved.end());
  std::vector<int32_t> merged;
  merged.reserve(line.order.size());
  size_t next = 0;
  for (const auto& [key, g] : moved) {
    for (; next < order.size() && ranks[next] <= key; ++next) merged.push_back(order[next]);
    merged.push_back(g);
  }
  merged.insert(merged.end(), order.begin() + static_cast<std::ptrdiff_t>(next), order.end());
  return merged;
}

void ColumnFit::Judge(Line& line) const {
  line.excess = 0;
  line.high.clear();
  for (const int32_t g : line.order) {
    const double excess = ExcessOf(line, g);
    if (excess > 0) line.high.push_back(g);
    line.excess += excess;
  }
}

}  // namespace ashlar::memory
