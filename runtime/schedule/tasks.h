// The part of a graph whose order is free: tasks and the edges between them. It is cut at tasks
// through which every path goes (the divide and conquer of Ahn et al. 2020, "Ordering Chaos:
// Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices"). Two sweeps,
// forwards and backwards, find the cuts by counting the tasks without successors so far.
#ifndef ASHLAR_RUNTIME_SCHEDULE_TASKS_H_
#define ASHLAR_RUNTIME_SCHEDULE_TASKS_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// Returns by scheduled node the scheduled nodes that must run before it, because it reads their
// device values or the model demands it; ascending, each once.
std::vector<std::vector<int>> NodesBefore(const Graph& graph, const StorageModel& model);

// The tasks and their edges. Tasks are the nodes whose place in the order can change the live bytes
// of the arena. Constants, inputs, and nodes that only copy inputs to the caller's memory are not
// tasks: their step costs nothing.
struct TaskGraph {
  // By node; empty for other nodes. Includes dependencies through nodes that are not tasks.
  std::vector<std::vector<int>> preds;
  std::vector<std::vector<int>> succs;
  // By node: tasks that may free more after it has run: its successors, and other readers of its
  // inputs.
  std::vector<std::vector<int>> neighbors;
  // All tasks in topological order, cut after each task that is an ancestor or a descendant of
  // every other one. All orders run the segments one after another.
  std::vector<std::vector<int>> segments;
  std::vector<int> segment_of;  // by node; -1 for nodes that are not tasks
};

TaskGraph BuildTaskGraph(const StorageModel& model, const ArenaSimulator& arena,
                         const std::vector<std::vector<int>>& producers);

// Returns the order of all scheduled nodes: `tasks` in their order, each other node right before
// its first reader, or right after its inputs if it has no reader.
std::vector<int> InsertFreeNodes(absl::Span<const int> tasks, const std::vector<bool>& scheduled,
                                 const std::vector<std::vector<int>>& producers);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_TASKS_H_
