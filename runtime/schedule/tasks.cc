#include "runtime/schedule/tasks.h"

#include <algorithm>

#include "runtime/schedule/sort_unique.h"

namespace ashlar {
namespace {

// Returns, by position in `tasks`, whether all earlier tasks are ancestors. The earlier tasks are
// the sinks (no successors so far) and the sinks' ancestors, so a task must read every sink.
std::vector<bool> DescendsFromAll(absl::Span<const int> tasks,
                                  const std::vector<std::vector<int>>& preds) {
  std::vector<bool> result(tasks.size());
  std::vector<bool> is_sink(preds.size(), false);
  int sinks = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (int pred : preds[tasks[i]]) {
      sinks -= is_sink[pred];
      is_sink[pred] = false;
    }
    result[i] = sinks == 0;
    is_sink[tasks[i]] = true;
    ++sinks;
  }
  return result;
}

}  // namespace

std::vector<std::vector<int>> NodesBefore(const Graph& graph, const StorageModel& model) {
  std::vector<std::vector<int>> producers(graph.nodes().size());
  for (const RunsBefore& edge : model.runs_before) producers[edge.then].push_back(edge.first);
  for (size_t i = 0; i < producers.size(); ++i) {
    if (!model.scheduled[i]) continue;
    const OperatorNode& node = graph.node(static_cast<int>(i));
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const int producer = graph.var(node.inputs[k]).producer;
      if (node.op->input_use(static_cast<int>(k)) == InputUse::kDeviceValue &&
          model.scheduled[producer]) {
        producers[i].push_back(producer);
      }
    }
    SortUnique(producers[i]);
  }
  return producers;
}

TaskGraph BuildTaskGraph(const StorageModel& model, const ArenaSimulator& arena,
                         const std::vector<std::vector<int>>& producers) {
  const size_t num_nodes = producers.size();
  TaskGraph graph;
  graph.preds.resize(num_nodes);
  graph.succs.resize(num_nodes);
  graph.neighbors.resize(num_nodes);
  graph.segment_of.assign(num_nodes, -1);
  // Nodes are in topological order, so the tasks reached through a free node are complete when they
  // are read.
  std::vector<std::vector<int>> reached(num_nodes);
  std::vector<int> tasks;
  for (size_t i = 0; i < num_nodes; ++i) {
    if (!model.scheduled[i]) continue;
    const int node = static_cast<int>(i);
    std::vector<int> preds;
    for (int producer : producers[i]) {
      preds.insert(preds.end(), reached[producer].begin(), reached[producer].end());
    }
    SortUnique(preds);
    if (!arena.Touches(node)) {
      reached[i] = std::move(preds);
      continue;
    }
    reached[i] = {node};
    tasks.push_back(node);
    for (int pred : preds) graph.succs[pred].push_back(node);
    graph.preds[i] = std::move(preds);
  }
  for (int task : tasks) {
    std::vector<int>& neighbors = graph.neighbors[task];
    neighbors = graph.succs[task];
    for (int storage : model.reads[task]) {
      if (model.storages[storage].pool != Pool::kArena) continue;
      for (int reader : model.storages[storage].readers) {
        if (reader != task) neighbors.push_back(reader);
      }
    }
    SortUnique(neighbors);
  }
  const std::vector<bool> after_all = DescendsFromAll(tasks, graph.preds);
  std::vector<int> reversed(tasks.rbegin(), tasks.rend());
  std::vector<bool> before_all = DescendsFromAll(reversed, graph.succs);
  std::reverse(before_all.begin(), before_all.end());
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i == 0 || (after_all[i - 1] && before_all[i - 1])) graph.segments.emplace_back();
    graph.segments.back().push_back(tasks[i]);
    graph.segment_of[tasks[i]] = static_cast<int>(graph.segments.size()) - 1;
  }
  return graph;
}

std::vector<int> InsertFreeNodes(absl::Span<const int> tasks, const std::vector<bool>& scheduled,
                                 const std::vector<std::vector<int>>& producers) {
  const size_t num_nodes = producers.size();
  std::vector<bool> is_task(num_nodes, false);
  for (int task : tasks) is_task[task] = true;
  std::vector<std::vector<int>> consumers(num_nodes);
  std::vector<size_t> waiting(num_nodes);
  for (size_t i = 0; i < num_nodes; ++i) {
    waiting[i] = producers[i].size();
    for (int producer : producers[i]) consumers[producer].push_back(static_cast<int>(i));
  }
  std::vector<int> order;
  std::vector<bool> taken(num_nodes, false);
  // Places a node, then path ends (such as outputs) that waited only for it.
  const auto place = [&](int node) {
    order.push_back(node);
    for (int consumer : consumers[node]) {
      --waiting[consumer];
      if (waiting[consumer] == 0 && consumers[consumer].empty() && !is_task[consumer] &&
          !taken[consumer]) {
        taken[consumer] = true;
        order.push_back(consumer);
      }
    }
  };
  const auto place_with_needs = [&](int node) {
    std::vector<int> needs = {node};
    taken[node] = true;
    for (size_t i = 0; i < needs.size(); ++i) {
      for (int producer : producers[needs[i]]) {
        if (taken[producer]) continue;
        taken[producer] = true;
        needs.push_back(producer);
      }
    }
    SortUnique(needs);  // a topological order
    for (int need : needs) place(need);
  };
  for (int task : tasks) place_with_needs(task);
  for (size_t i = 0; i < num_nodes; ++i) {
    if (scheduled[i] && !taken[i]) place_with_needs(static_cast<int>(i));
  }
  return order;
}

}  // namespace ashlar
