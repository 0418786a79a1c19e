// A knapsack problem, solved greedily: each constant has several packed forms, and its operators
// take more time with smaller ones. While the bytes that are needed at once, or all bytes, are too
// many, takes the step to a smaller form there that costs the least time per byte.
#include "runtime/plan/stages/weight_limit.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace ashlar {
namespace {

// The bytes that a kernel packs for a node, and the constant that has most of them; -1: none.
struct PackedBytes {
  int var = -1;
  int64_t bytes = 0;
};

PackedBytes PackedBytesOf(const Graph& graph, const OperatorNode& node, const Kernel& kernel) {
  PackedBytes packed;
  int64_t most = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (graph.constant(node.inputs[i]) == nullptr) continue;
    const std::optional<Packing> packing = kernel.packing(static_cast<int>(i));
    if (!packing) continue;
    packed.bytes += packing->bytes;
    if (packing->bytes <= most) continue;
    most = packing->bytes;
    packed.var = node.inputs[i];
  }
  return packed;
}

// The operators that read one constant, such as the tiles of one operator.
struct Group {
  struct Candidate {
    int64_t bytes;
    double ms;
  };
  std::vector<int> nodes;
  std::vector<std::vector<Candidate>> candidates;  // of each node
  std::set<int64_t> sizes;                         // of possible forms
  int64_t most = 0;                                // the largest size that is allowed at present

  // Returns the milliseconds of all nodes with forms of at most `bytes`; infinite if a node has
  // none.
  double Time(int64_t bytes) const {
    double ms = 0;
    for (const std::vector<Candidate>& of_node : candidates) {
      const auto first = std::find_if(of_node.begin(), of_node.end(),
                                      [&](const Candidate& c) { return c.bytes <= bytes; });
      if (first == of_node.end()) return std::numeric_limits<double>::infinity();
      ms += first->ms;
    }
    return ms;
  }
};

struct Step {
  Group* group = nullptr;
  int64_t bytes = 0;                                       // size of the smaller form
  double price = std::numeric_limits<double>::infinity();  // ms per byte
};

Step CheapestStep(const std::vector<Group*>& groups) {
  Step cheapest;
  for (Group* const group : groups) {
    const double now = group->Time(group->most);
    for (const int64_t bytes : group->sizes) {
      if (bytes >= group->most) break;
      const double price = (group->Time(bytes) - now) / static_cast<double>(group->most - bytes);
      if (price < cheapest.price) cheapest = {group, bytes, price};
    }
  }
  return cheapest;
}

int64_t BytesOf(const std::vector<Group*>& groups) {
  return std::accumulate(groups.begin(), groups.end(), int64_t{0},
                         [](int64_t sum, const Group* group) { return sum + group->most; });
}

// Takes steps until these groups have at most so many bytes; returns whether it took any.
bool Shrink(const std::vector<Group*>& groups, int64_t most) {
  bool any = false;
  for (int64_t bytes = BytesOf(groups); bytes > most; any = true) {
    const Step step = CheapestStep(groups);
    if (step.group == nullptr) break;
    bytes -= step.group->most - step.bytes;
    step.group->most = step.bytes;
  }
  return any;
}

// Returns the groups that are needed at once where these have most bytes: from the first of their
// nodes to the last, in the order of the graph.
std::vector<Group*> MostAtOnce(const std::vector<Group*>& groups) {
  std::vector<Group*> most;
  for (const Group* const begin : groups) {
    const int at = begin->nodes.front();
    std::vector<Group*> live;
    std::copy_if(groups.begin(), groups.end(), std::back_inserter(live), [&](const Group* group) {
      return group->nodes.front() <= at && group->nodes.back() >= at;
    });
    if (BytesOf(live) > BytesOf(most)) most = std::move(live);
  }
  return most;
}

}  // namespace

void LimitWeights(const Graph& graph, const StorageModel& model, const ProcessorSpeed& speed,
                  const WeightLimits& limits, KernelCandidates& candidates) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  if (limits.all == kNone && limits.at_once == kNone) return;
  std::map<int, Group> groups;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].empty()) continue;
    const OperatorNode& node = graph.node(static_cast<int>(i));
    const int var = PackedBytesOf(graph, node, *candidates[i][0]).var;
    if (var < 0) continue;
    Group& group = groups[var];
    group.nodes.push_back(static_cast<int>(i));
    std::vector<Group::Candidate>& of_node = group.candidates.emplace_back();
    for (const std::shared_ptr<const Kernel>& kernel : candidates[i]) {
      of_node.push_back(
          {PackedBytesOf(graph, node, *kernel).bytes,
           EstimateOperator(graph, model, static_cast<int>(i), speed, /*share=*/1, kernel.get())});
      group.sizes.insert(of_node.back().bytes);
    }
    group.most = std::max(group.most, of_node[0].bytes);
  }
  std::vector<Group*> all;
  for (auto& [var, group] : groups) all.push_back(&group);
  while (limits.at_once != kNone && Shrink(MostAtOnce(all), limits.at_once)) {
  }
  Shrink(all, limits.all);
  for (const auto& [var, group] : groups) {
    for (const int index : group.nodes) {
      const OperatorNode& node = graph.node(index);
      std::erase_if(candidates[index], [&, at_most = group.most](const auto& kernel) {
        return PackedBytesOf(graph, node, *kernel).bytes > at_most;
      });
    }
  }
}

}  // namespace ashlar
