// Local search whose neighbourhoods are windows of an order (a large neighbourhood search: Shaw
// 1998, "Using Constraint Programming and Local Search Methods to Solve Vehicle Routing Problems").
// Reorders the range around the largest step exactly, and enlarges it while nothing improves.
#include <algorithm>

#include "runtime/schedule/search.h"

namespace ashlar {
namespace {

constexpr size_t kFirstWindow = 24;
constexpr int64_t kWindowEffort = 100'000;

}  // namespace

void ImproveByWindows(ArenaSimulator& arena, const TaskGraph& graph, std::vector<int>& order,
                      int64_t max_effort) {
  TaskGraph window_graph = graph;
  window_graph.segments.assign(1, {});
  std::vector<int>& window = window_graph.segments[0];
  std::vector<int>& window_of = window_graph.segment_of;
  const int64_t live = arena.live();
  // Reorders order[begin, end); returns whether its peak falls below `peak`.
  const auto improve = [&](size_t begin, size_t end, int64_t peak) {
    window.assign(order.begin() + begin, order.begin() + end);
    std::fill(window_of.begin(), window_of.end(), -1);
    for (int task : window) window_of[task] = 0;
    const absl::Span<const int> before = absl::MakeConstSpan(order).subspan(0, begin);
    for (int task : before) arena.Run(task);
    max_effort -= static_cast<int64_t>(end);
    const int64_t bound = SegmentBound(arena, window_graph, 0);
    bool better = false;
    if (bound < peak) {
      const ExactOrder exact =
          SearchExactly(arena, window_graph, 0, bound, std::min(kWindowEffort, max_effort));
      max_effort -= exact.effort;
      better = !exact.order.empty() && exact.bound < peak;
      if (better) std::copy(exact.order.begin(), exact.order.end(), order.begin() + begin);
    }
    arena.Undo(before, live);
    return better;
  };
  for (size_t size = kFirstWindow; max_effort > 0;) {
    int64_t peak = 0;
    size_t at = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const int64_t step = arena.Run(order[i]);
      if (step > peak) {
        peak = step;
        at = i;
      }
    }
    arena.Undo(order, live);
    max_effort -= static_cast<int64_t>(order.size());
    bool better = false;
    for (size_t quarters = 1; quarters < 4 && !better; ++quarters) {
      const size_t begin = at - std::min(at, size * quarters / 4);
      better = improve(begin, std::min(begin + size, order.size()), peak);
    }
    if (better) continue;
    if (size >= order.size()) break;
    size += size / 2;
  }
}

}  // namespace ashlar
