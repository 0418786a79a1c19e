// The part of a graph in which its order is free: tasks and the edges between them, cut at the
// tasks through which every path goes (the divide and conquer of Ahn et al. 2020, "Ordering Chaos:
// Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge Devices"). Two sweeps find
// the cuts, forwards and backwards, by counting the tasks without successors so far.
#ifndef ASHLAR_RUNTIME_SCHEDULE_TASKS_H_
#define ASHLAR_RUNTIME_SCHEDULE_TASKS_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// By scheduled node: the scheduled nodes that have to run before it, as it reads their device
// values or the model says so; ascending, each once.
std::vector<std::vector<int>> NodesBefore(const Graph& graph, const StorageModel& model);

// Tasks are the nodes whose place in the order can change the live bytes of the arena. Constants,
// inputs, and nodes that only read inputs into the caller's memory are no tasks: their step costs
// nothing.
struct TaskGraph {
  // By node; empty for other nodes. Dependencies through nodes that are no tasks count.
  std::vector<std::vector<int>> preds;
  std::vector<std::vector<int>> succs;
  // By node: tasks that may free more once it has run: its successors, and readers of what it
  // reads.
  std::vector<std::vector<int>> neighbors;
  // All tasks in topological order, cut after each task that is an ancestor or a descendant of
  // every other one. All orders run the segments one after another.
  std::vector<std::vector<int>> segments;
  std::vector<int> segment_of;  // by node; -1 where it is no task
};

TaskGraph BuildTaskGraph(const StorageModel& model, const ArenaSimulator& arena,
                         const std::vector<std::vector<int>>& producers);

// The order of all scheduled nodes: the tasks in theirs, each other node right before the first
// that reads it; where none does, right after its inputs.
std::vector<int> InsertFreeNodes(absl::Span<const int> tasks, const std::vector<bool>& scheduled,
                                 const std::vector<std::vector<int>>& producers);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_TASKS_H_
