// Finds the order of a graph with the least peak: segment by segment, exactly or, if that takes too
// long, by beam search and then improved in windows around the peak.
#include <algorithm>

#include "runtime/schedule/arena.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/search.h"
#include "runtime/schedule/tasks.h"

namespace ashlar {
namespace {

// Limits on the steps that are tried for one graph, of a tenth of a microsecond or more each.
constexpr int64_t kExactEffort = 4'000'000;
constexpr int64_t kBeamEffort = 1'000'000;
constexpr int64_t kWindowsEffort = 2'000'000;

int64_t PeakOf(ArenaSimulator& arena, absl::Span<const int> order) {
  const int64_t live = arena.live();
  int64_t peak = 0;
  for (int task : order) peak = std::max(peak, arena.Run(task));
  arena.Undo(order, live);
  return peak;
}

// A segment before it is searched.
struct Segment {
  std::vector<int> order;  // the better of MegEngine's and the graph's own
  int64_t peak = 0;        // of that order
  int64_t bound = 0;       // lower bound for all orders
};

std::vector<Segment> DescribeSegments(ArenaSimulator& arena, const TaskGraph& tasks,
                                      absl::Span<const int> known_order) {
  const int64_t live = arena.live();
  std::vector<Segment> segments(tasks.segments.size());
  for (int node : known_order) {
    if (tasks.segment_of[node] >= 0) segments[tasks.segment_of[node]].order.push_back(node);
  }
  for (size_t s = 0; s < segments.size(); ++s) {
    Segment& segment = segments[s];
    if (segment.order.size() > 1) {
      segment.bound = SegmentBound(arena, tasks, static_cast<int>(s));
    }
    segment.peak = PeakOf(arena, segment.order);
    if (const int64_t peak = PeakOf(arena, tasks.segments[s]); peak < segment.peak) {
      segment.order = tasks.segments[s];
      segment.peak = peak;
    }
    for (int task : segment.order) arena.Run(task);
    if (segment.order.size() == 1) segment.bound = segment.peak;
  }
  for (const Segment& segment : segments) arena.Undo(segment.order, live);
  return segments;
}

// Replaces the order by the best that is found; `arena` is at the state before the segment.
// `floor`: a peak that some segment reaches in any case. `share`: the share of the effort to spend.
void Improve(ArenaSimulator& arena, const TaskGraph& tasks, int index, int64_t floor, double share,
             Segment& segment) {
  const auto effort = [&](int64_t whole) {
    return static_cast<int64_t>(share * static_cast<double>(whole));
  };
  ExactOrder exact = SearchExactly(arena, tasks, index, segment.bound, effort(kExactEffort));
  segment.bound = exact.bound;
  if (!exact.order.empty()) {
    segment.order = std::move(exact.order);
    segment.peak = exact.bound;
    return;
  }
  if (segment.peak <= std::max(floor, segment.bound)) return;
  std::vector<int> order = SearchByBeam(arena, tasks, index, segment.bound, effort(kBeamEffort));
  if (PeakOf(arena, order) < segment.peak) segment.order = std::move(order);
  ImproveByWindows(arena, tasks, segment.order, effort(kWindowsEffort));
  segment.peak = PeakOf(arena, segment.order);
}

}  // namespace

Schedule ScheduleMemory(const Graph& graph, const StorageModel& model,
                        absl::Span<const int64_t> workspace) {
  const std::vector<std::vector<int>> producers = NodesBefore(graph, model);
  ArenaSimulator arena(graph, model, workspace);
  const TaskGraph tasks = BuildTaskGraph(model, arena, producers);
  std::vector<Segment> segments =
      DescribeSegments(arena, tasks, ScheduleMegEngine(graph, model, workspace).order);

  // The peak of the whole order is the peak of the worst segment; segments are independent.
  int64_t floor = 0;
  double num_free = 0;  // tasks with a free order
  for (const Segment& segment : segments) {
    floor = std::max(floor, segment.bound);
    if (segment.order.size() > 1) num_free += static_cast<double>(segment.order.size());
  }
  Schedule schedule;
  std::vector<int> order;
  for (size_t s = 0; s < segments.size(); ++s) {
    Segment& segment = segments[s];
    if (segment.order.size() > 1) {
      const double share = static_cast<double>(segment.order.size()) / num_free;
      Improve(arena, tasks, static_cast<int>(s), floor, share, segment);
    }
    for (int task : segment.order) arena.Run(task);
    order.insert(order.end(), segment.order.begin(), segment.order.end());
    schedule.peak_bytes = std::max(schedule.peak_bytes, segment.peak);
    schedule.bound_bytes = std::max(schedule.bound_bytes, segment.bound);
  }
  schedule.search_bytes = arena.search_bytes();
  schedule.exact = schedule.peak_bytes == schedule.bound_bytes;
  schedule.order = InsertFreeNodes(order, model.scheduled, producers);
  return schedule;
}

}  // namespace ashlar
