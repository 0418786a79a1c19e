#include "memory/problem/group_shape.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ashlar::memory {
namespace {

using Range = std::pair<int64_t, int64_t>;  // [bottom, top)

// Merges ranges, with their counts of live rectangles, into disjoint ranges.
std::vector<Range> Merge(const std::map<Range, int>& live) {
  std::vector<Range> merged;
  for (const auto& [range, count] : live) {
    if (!merged.empty() && range.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

}  // namespace

std::vector<Rect> UnionOfRects(const std::vector<Rect>& rects) {
  struct Event {
    int32_t section;
    bool birth;
    Range range;
  };
  std::vector<Event> events;
  for (const Rect& r : rects) {
    events.push_back({r.begin, true, {r.bottom, r.top}});
    events.push_back({r.end, false, {r.bottom, r.top}});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.section < b.section; });
  std::vector<Rect> result;
  std::map<Range, int> live;
  std::map<Range, int32_t> open;  // range to its first section
  for (size_t i = 0; i < events.size();) {
    const int32_t section = events[i].section;
    for (; i < events.size() && events[i].section == section; ++i) {
      const int count = live[events[i].range] += events[i].birth ? 1 : -1;
      if (count == 0) live.erase(events[i].range);
    }
    std::map<Range, int32_t> still_open;
    for (const Range& range : Merge(live)) {
      auto it = open.find(range);
      still_open[range] = it == open.end() ? section : it->second;
      if (it != open.end()) open.erase(it);
    }
    for (const auto& [range, begin] : open) {
      result.push_back({begin, section, range.first, range.second});
    }
    open = std::move(still_open);
  }
  std::sort(result.begin(), result.end(), [](const Rect& a, const Rect& b) {
    return std::pair(a.begin, a.bottom) < std::pair(b.begin, b.bottom);
  });
  return result;
}

}  // namespace ashlar::memory
