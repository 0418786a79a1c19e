#include "memory/heuristics/dive.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "memory/heuristics/online.h"
#include "memory/heuristics/skyline.h"
#include "memory/problem/lifetime_index.h"
#include "memory/problem/load_tree.h"
#include "memory/problem/lower_bound.h"
#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

// Work per filled valley, including the ordering of its group.
constexpr int64_t kValleyWork = 400;
// The same when the fullest section is searched.
constexpr int64_t kFullestWork = 700;

// Returns bytes x sections as a double: only the order matters, and the product of two large
// numbers may not fit an integer.
double Area(const Instance& instance, int group) {
  double area = 0;
  for (const Rect& r : instance.rects(group)) {
    area += static_cast<double>(r.top - r.bottom) * (r.end - r.begin);
  }
  return area;
}

// Returns for each group the largest load of a section that it lives in.
std::vector<int64_t> PeakLoads(const Instance& instance) {
  // A tree of maxima over the sections: leaf s has index sections + s.
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
  std::stable_partition(order.begin(), order.end(), [&](int32_t g) {
    return instance.begin(g) == 0 && instance.end(g) == instance.sections();
  });
  return order;
}

DiveStart EmptyDive(const Instance& instance) {
  DiveStart start{std::vector<int64_t>(instance.groups()),
                  std::vector<int64_t>(instance.sections(), AboveFixed(instance))};
  for (int g = 0; g < instance.groups(); ++g) {
    start.bases[g] = instance.fixed(g) >= 0 ? instance.fixed(g) : instance.AlignUp(g, 0);
  }
  return start;
}

DiveStart DiveAbove(const Instance& instance, const std::vector<int64_t>& bases, int64_t cut) {
  // A tree of maxima over the sections; a node's value holds for its whole subtree.
  const size_t sections = instance.sections();
  std::vector<int64_t> tree(2 * sections, 0);
  for (int g = 0; g < instance.groups(); ++g) {
    if (bases[g] >= cut) continue;
    for (const Rect& r : instance.rects(g)) {
      size_t low = sections + r.begin;
      size_t high = sections + r.end;
      const auto raise = [&](size_t node) { tree[node] = std::max(tree[node], bases[g] + r.top); };
      for (; low < high; low /= 2, high /= 2) {
        if (low & 1) raise(low++);
        if (high & 1) raise(--high);
      }
    }
  }
  for (size_t node = 2; node < tree.size(); ++node) {
    tree[node] = std::max(tree[node], tree[node / 2]);
  }
  return {bases, std::vector<int64_t>(tree.begin() + sections, tree.end())};
}

std::vector<int64_t> PlaceDive(const Instance& instance, LifetimeIndex& index,
                               absl::Span<const int32_t> order, DiveRule rule, DiveStart start,
                               Work& work, int64_t deadline) {
  std::vector<int64_t> bases = std::move(start.bases);
  index.Fill(order);
  Skyline skyline(start.levels);
  std::optional<LoadTree> load;  // of the groups left
  if (rule == DiveRule::kFullestSection) load.emplace(SectionLoads(instance, order));
  for (size_t left = order.size(); left > 0;) {
    work.Spend(rule == DiveRule::kFullestSection ? kFullestWork : kValleyWork);
    if (work.spent() >= deadline) return {};
    // Valleys do not depend on each other, so the lowest need not come first.
    const Skyline::Range valley = skyline.Valley();
    int32_t g = -1;
    if (load.has_value()) {
      const int32_t fullest = load->Fullest(valley.begin, valley.end);
      g = index.FirstAt(fullest, valley.begin, valley.end);
    }
    if (g < 0) g = index.First(valley.begin, valley.end);
    if (g < 0) {
      // Every group that reaches into this valley also stands on one of its sides.
      skyline.RaiseToNeighbour(valley);
      continue;
    }
    bases[g] = instance.AlignUp(g, valley.level);
    for (const Rect& r : instance.rects(g)) {
      skyline.Raise(r.begin, r.end, bases[g] + r.top);
      if (load.has_value()) load->Add(r.begin, r.end, r.bottom - r.top);
    }
    index.Remove(g);
    --left;
  }
  return bases;
}

}  // namespace ashlar::memory
