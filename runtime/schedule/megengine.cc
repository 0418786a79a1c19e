// MegEngine's order (src/core/impl/graph/topo_sort.cpp): Kahn's topological sort (1962,
// "Topological Sorting of Large Networks") with a queue ordered by priority and by the time at
// which inputs become available.
#include <queue>
#include <tuple>

#include "runtime/schedule/arena.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/tasks.h"

namespace ashlar {
namespace {

struct Ready {
  int priority = 0;
  int time = 0;  // operators emitted before it became ready: input_update_time
  int id = 0;
  int node = 0;

  // std::priority_queue pops the greatest.
  friend bool operator<(const Ready& a, const Ready& b) {
    return std::tuple(-int64_t{a.priority}, a.time, a.id) <
           std::tuple(-int64_t{b.priority}, b.time, b.id);
  }
};

}  // namespace

Schedule ScheduleMegEngine(const Graph& graph, const StorageModel& model,
                           absl::Span<const int64_t> workspace) {
  const std::vector<std::vector<int>> producers = NodesBefore(graph, model);
  const size_t num_nodes = graph.nodes().size();
  std::vector<std::vector<int>> consumers(num_nodes);
  std::vector<size_t> waiting(num_nodes);
  std::priority_queue<Ready> queue;
  Schedule schedule;
  const auto enter = [&](int node) {
    const OperatorNode& n = graph.node(node);
    queue.push({n.priority, static_cast<int>(schedule.order.size()), n.id, node});
  };
  for (size_t i = 0; i < num_nodes; ++i) {
    if (!model.scheduled[i]) continue;
    const int node = static_cast<int>(i);
    waiting[i] = producers[i].size();
    for (int producer : producers[i]) consumers[producer].push_back(node);
    if (waiting[i] == 0) enter(node);
  }
  while (!queue.empty()) {
    const Ready next = queue.top();
    queue.pop();
    schedule.order.push_back(next.node);
    schedule.input_update_time.push_back(next.time);
    for (int consumer : consumers[next.node]) {
      if (--waiting[consumer] == 0) enter(consumer);
    }
  }
  schedule.peak_bytes = SimulatePeak(graph, model, schedule.order, workspace);
  return schedule;
}

}  // namespace ashlar
