// The least peak of a segment by dynamic programming over the sets of tasks that can have run (as
// in SERENITY: Ahn et al. 2020, "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired
// Neural Networks for Edge Devices"), least peak first, pruned by a bound for each task.
#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <utility>

#include "runtime/schedule/order_walk.h"
#include "runtime/schedule/search.h"

namespace ashlar {
namespace {

// Limit on the pairs of tasks that a bound compares; for larger segments it uses only some tasks.
constexpr size_t kBoundEffort = 10'000'000;

// A step from a saved state.
struct Edge {
  int state = 0;
  int task = 0;
  int64_t bytes = 0;  // of the step

  // std::priority_queue pops the greatest: the smallest step, the latest found of equal ones.
  friend bool operator<(const Edge& a, const Edge& b) {
    return std::tuple(-a.bytes, a.state, a.task) < std::tuple(-b.bytes, b.state, b.task);
  }
};

// Searches depth-first through all states that can be reached within a budget. When none is left,
// raises the budget to the smallest step that exceeded it (Dijkstra's algorithm, with the maximum
// in place of the sum). Visits each set of tasks once, with its least peak. If the budget is the
// least peak from the start, the order is the first one depth-first.
ExactOrder SearchWithin(OrderWalk& walk, int64_t budget, int64_t max_effort) {
  struct OpenEdge {
    int state, task;
  };
  Chunked<OpenEdge> open;
  std::priority_queue<Edge> over_budget;
  size_t most_over_budget = 0;
  const auto save = [&]() {
    const int state = walk.Save();
    if (state < 0) return;
    const std::vector<int> ready = walk.ready();
    for (int task : ready) {
      const Edge edge = {state, task, walk.StepBytes(task)};
      if (edge.bytes <= budget) {
        open.push_back({state, task});
      } else {
        over_budget.push(edge);
        most_over_budget = std::max(most_over_budget, over_budget.size());
      }
    }
  };
  const auto count_bytes = [&] {  // the queue doubles when it grows, and is there twice meanwhile
    walk.AddBytes(open.bytes() +
                  static_cast<int64_t>(std::bit_ceil(most_over_budget) * sizeof(Edge)));
  };
  walk.Settle(budget);
  save();
  while (!walk.done()) {
    if (walk.effort() > max_effort) {
      count_bytes();
      return {{}, budget, walk.effort()};
    }
    if (open.empty()) {
      budget = over_budget.top().bytes;
      while (!over_budget.empty() && over_budget.top().bytes == budget) {
        open.push_back({over_budget.top().state, over_budget.top().task});
        over_budget.pop();
      }
    }
    const OpenEdge edge = open.back();
    open.pop_back();
    walk.Load(edge.state);
    walk.Advance(edge.task, budget);
    if (!walk.done()) save();
  }
  count_bytes();
  return {walk.Path(), budget, walk.effort()};
}

}  // namespace

int64_t SegmentBound(ArenaSimulator& arena, const TaskGraph& graph, int segment) {
  using Progress = ArenaSimulator::Progress;
  const std::vector<int>& tasks = graph.segments[segment];
  const int64_t live = arena.live();
  const std::vector<int> trees = arena.TreesOf(tasks);
  const int64_t elsewhere = live - arena.LiveBytesIn(trees);
  int64_t bound = 0;
  std::vector<int> stack;
  // Marks `task` and the tasks reached from it along `edges` within the segment.
  const auto mark = [&](int task, const std::vector<std::vector<int>>& edges, Progress progress) {
    arena.SetProgress(task, progress);
    stack = {task};
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      for (int next : edges[at]) {
        if (arena.progress(next) != Progress::kUnknown) continue;
        arena.SetProgress(next, progress);
        stack.push_back(next);
      }
    }
  };
  const size_t stride = 1 + tasks.size() * tasks.size() / kBoundEffort;
  for (size_t i = 0; i < tasks.size(); i += stride) {
    const int task = tasks[i];
    for (int other : tasks) arena.SetProgress(other, Progress::kUnknown);
    mark(task, graph.preds, Progress::kRun);
    mark(task, graph.succs, Progress::kPending);
    arena.SetLive(elsewhere + arena.LiveBytesIn(trees));
    bound = std::max(bound, arena.Run(task));
  }
  arena.Undo(tasks, live);
  return bound;
}

ExactOrder SearchExactly(ArenaSimulator& arena, const TaskGraph& graph, int segment, int64_t bound,
                         int64_t max_effort) {
  ExactOrder result;
  {
    OrderWalk walk(arena, graph, segment);
    result = SearchWithin(walk, bound, max_effort);
  }
  if (result.order.empty() || result.bound == bound) return result;
  // The budget rose during the search. With the right budget from the start, the order is
  // depth-first.
  OrderWalk walk(arena, graph, segment);
  ExactOrder again = SearchWithin(walk, result.bound, max_effort - result.effort);
  result.effort += again.effort;
  if (!again.order.empty()) result.order = std::move(again.order);
  return result;
}

}  // namespace ashlar
