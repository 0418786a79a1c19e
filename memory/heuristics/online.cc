#include "memory/heuristics/online.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

// The free blocks below the top, by address and by size.
class FreeList {
 public:
  explicit FreeList(int64_t bottom) : top_(bottom) {}

  // Takes the smallest block that holds `group`; returns its base.
  int64_t Take(const Instance& instance, int group) {
    const int64_t height = instance.height(group);
    for (auto it = by_size_.lower_bound({height, 0}); it != by_size_.end(); ++it) {
      const auto [size, begin] = *it;
      const int64_t base = instance.AlignUp(group, begin);
      if (base + height > begin + size) continue;
      Erase(begin);
      Insert(begin, base);
      Insert(base + height, begin + size);
      return base;
    }
    // MegEngine does not use a free block that touches the top.
    const int64_t begin = top_;
    const int64_t base = instance.AlignUp(group, begin);
    Insert(begin, base);
    top_ = base + height;
    return base;
  }

  void Release(int64_t begin, int64_t end) {
    auto next = by_address_.lower_bound(begin);
    if (next != by_address_.end() && next->first == end) {
      end = next->second;
      next = Erase(next->first);
    }
    if (next != by_address_.begin() && std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
      Erase(begin);
    }
    Insert(begin, end);
  }

 private:
  void Insert(int64_t begin, int64_t end) {
    if (begin >= end) return;
    by_address_[begin] = end;
    by_size_.insert({end - begin, begin});
  }

  std::map<int64_t, int64_t>::iterator Erase(int64_t begin) {
    auto it = by_address_.find(begin);
    by_size_.erase({it->second - begin, begin});
    return by_address_.erase(it);
  }

  int64_t top_;
  std::map<int64_t, int64_t> by_address_;          // begin to end
  std::set<std::pair<int64_t, int64_t>> by_size_;  // (size, begin)
};

// Bytes [bottom, top) of a group that are not needed from `section` on.
struct Shrink {
  int32_t section;
  int group;
  int64_t bottom, top;
};

// A group first takes its full height, then frees the bytes that its remaining rectangles do not
// span, as a chain of overwriting buffers does.
void AppendShrinks(const Instance& instance, int group, std::vector<Shrink>& shrinks) {
  std::vector<Rect> rects(instance.rects(group).begin(), instance.rects(group).end());
  std::sort(rects.begin(), rects.end(), [](const Rect& a, const Rect& b) { return a.end > b.end; });
  int64_t bottom = 0;
  int64_t top = 0;
  // Going backwards from the last rectangle, the span only grows.
  for (const Rect& r : rects) {
    if (top == 0) {
      shrinks.push_back({r.end, group, r.bottom, r.top});
      std::tie(bottom, top) = std::pair(r.bottom, r.top);
      continue;
    }
    if (r.bottom < bottom) shrinks.push_back({r.end, group, r.bottom, bottom});
    if (r.top > top) shrinks.push_back({r.end, group, top, r.top});
    bottom = std::min(bottom, r.bottom);
    top = std::max(top, r.top);
  }
}

}  // namespace

std::vector<int32_t> FreeGroupsByBirth(const Instance& instance) {
  std::vector<int32_t> order;
  for (int g = 0; g < instance.groups(); ++g) {
    if (instance.fixed(g) < 0) order.push_back(g);
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(instance.begin(a), a) < std::pair(instance.begin(b), b);
  });
  return order;
}

int64_t AboveFixed(const Instance& instance) {
  int64_t above = 0;
  int64_t alignment = 1;
  for (int g = 0; g < instance.groups(); ++g) {
    alignment = std::max(alignment, instance.alignment(g));
    if (instance.fixed(g) >= 0) above = std::max(above, instance.fixed(g) + instance.height(g));
  }
  return (above + alignment - 1) & -alignment;
}

std::vector<int64_t> PlaceNaive(const Instance& instance) {
  std::vector<int64_t> bases(instance.groups());
  int64_t top = AboveFixed(instance);
  for (int g = 0; g < instance.groups(); ++g) bases[g] = instance.fixed(g);
  for (int g : FreeGroupsByBirth(instance)) {
    // Groups without bytes go to the start, not after the arena's end.
    bases[g] = instance.AlignUp(g, instance.height(g) > 0 ? top : 0);
    if (instance.height(g) > 0) top = bases[g] + instance.height(g);
  }
  return bases;
}

std::vector<int64_t> PlaceBestFit(const Instance& instance) {
  std::vector<int64_t> bases(instance.groups());
  for (int g = 0; g < instance.groups(); ++g) bases[g] = instance.fixed(g);
  const std::vector<int32_t> order = FreeGroupsByBirth(instance);
  std::vector<Shrink> shrinks;
  for (int g : order) AppendShrinks(instance, g, shrinks);
  std::sort(shrinks.begin(), shrinks.end(), [](const Shrink& a, const Shrink& b) {
    return std::tie(a.section, a.group, a.bottom) < std::tie(b.section, b.group, b.bottom);
  });
  FreeList free_list(AboveFixed(instance));
  size_t next = 0;
  for (int g : order) {
    if (instance.height(g) == 0) {
      bases[g] = instance.AlignUp(g, 0);
      continue;
    }
    for (; next < shrinks.size() && shrinks[next].section <= instance.begin(g); ++next) {
      const Shrink& s = shrinks[next];
      free_list.Release(bases[s.group] + s.bottom, bases[s.group] + s.top);
    }
    bases[g] = free_list.Take(instance, g);
  }
  return bases;
}

}  // namespace ashlar::memory
