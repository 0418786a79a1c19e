#include "memory/dive.h"

#include <algorithm>
#include <tuple>

#include "memory/lifetime_index.h"
#include "memory/lower_bound.h"
#include "memory/online.h"
#include "memory/skyline.h"

namespace ashlar::memory {
namespace {

// Work, of one valley filled and, with it, of a group's place in the order.
constexpr int64_t kValleyWork = 400;

// Bytes x sections. In floating point: only an order is wanted, and the product
// of two large numbers need not fit an integer.
double Area(const Instance& instance, int group) {
  double area = 0;
  for (const Rect& r : instance.rects(group)) {
    area += static_cast<double>(r.top - r.bottom) * (r.end - r.begin);
  }
  return area;
}

// For each group the largest load of a section that it lives in.
std::vector<int64_t> PeakLoads(const Instance& instance) {
  // A tree of maxima over the sections: leaf s at index sections + s.
  const std::vector<int64_t> load = SectionLoads(instance);
  const size_t sections = load.size();
  std::vector<int64_t> tree(2 * sections);
  std::copy(load.begin(), load.end(), tree.begin() + sections);
  for (size_t i = sections; i-- > 1;) tree[i] = std::max(tree[2 * i], tree[2 * i + 1]);
  std::vector<int64_t> peaks(instance.groups(), 0);
  for (int g = 0; g < instance.groups(); ++g) {
    size_t low = sections + instance.begin(g);
    size_t high = sections + instance.end(g);
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1) peaks[g] = std::max(peaks[g], tree[low++]);
      if (high & 1) peaks[g] = std::max(peaks[g], tree[--high]);
    }
  }
  return peaks;
}

}  // namespace

std::vector<int32_t> DiveOrder(const Instance& instance, DivePriority priority) {
  using Key = std::tuple<double, double, double, int32_t>;
  const bool by_load =
      priority == DivePriority::kLoadThenWide || priority == DivePriority::kLoadThenArea;
  const std::vector<int64_t> peaks = by_load ? PeakLoads(instance) : std::vector<int64_t>();
  std::vector<Key> keys;
  keys.reserve(instance.groups());
  for (int g = 0; g < instance.groups(); ++g) {
    if (instance.height(g) == 0 || instance.fixed(g) >= 0) continue;
    const double area = -Area(instance, g);
    const double length = instance.begin(g) - instance.end(g);
    const double height = -static_cast<double>(instance.height(g));
    switch (priority) {
      case DivePriority::kArea:
        keys.push_back({area, length, height, g});
        break;
      case DivePriority::kLoadThenWide:
        keys.push_back({-static_cast<double>(peaks[g]), length, area, g});
        break;
      case DivePriority::kLoadThenArea:
        keys.push_back({-static_cast<double>(peaks[g]), area, length, g});
        break;
      case DivePriority::kHeight:
        keys.push_back({height, length, area, g});
        break;
      case DivePriority::kBytesSteps:
        keys.push_back({height * static_cast<double>(instance.steps(g)), length, height, g});
        break;
    }
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int32_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys) order.push_back(std::get<3>(key));
  return order;
}

std::vector<int64_t> PlaceDive(const Instance& instance, LifetimeIndex& index,
                               absl::Span<const int32_t> order, Work& work, int64_t deadline) {
  std::vector<int64_t> bases(instance.groups());
  for (int g = 0; g < instance.groups(); ++g) {
    bases[g] = instance.fixed(g) >= 0 ? instance.fixed(g) : instance.AlignUp(g, 0);
  }
  index.Fill(order);
  Skyline skyline(instance.sections(), AboveFixed(instance));
  for (size_t left = order.size(); left > 0;) {
    work.Spend(kValleyWork);
    if (work.spent() >= deadline) return {};
    // Valleys do not depend on each other, so the lowest need not come first.
    const Skyline::Stretch valley = skyline.Valley();
    const int32_t g = index.First(valley.begin, valley.end);
    if (g < 0) {
      // Whatever reaches into this valley also stands on one of its sides.
      skyline.RaiseToNeighbour(valley);
      continue;
    }
    bases[g] = instance.AlignUp(g, valley.level);
    for (const Rect& r : instance.rects(g)) skyline.Raise(r.begin, r.end, bases[g] + r.top);
    index.Remove(g);
    --left;
  }
  return bases;
}

}  // namespace ashlar::memory
