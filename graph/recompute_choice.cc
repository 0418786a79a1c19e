#include "graph/recompute_choice.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace ashlar {
namespace {

constexpr int64_t kFewOperations = 16;  // per element
// The largest number of nodes that are recomputed for one var: chains of sums are recomputed as a
// whole.
constexpr size_t kLongestChain = 64;
// A var that is smaller than its inputs by at least this factor is computed together with them, and
// saved.
constexpr int64_t kMuchSmaller = 4;

int64_t BytesOf(const Graph& graph, int var) { return graph.var(var).type.bytes(); }

bool ReadsOnDevice(const OperatorNode& node, size_t input) {
  return node.op->input_use(static_cast<int>(input)) == InputUse::kDeviceValue;
}

// The nodes and sources needed to recompute a var.
struct MadeChain {
  size_t nodes = 0;
  int64_t largest = 0;       // bytes of the largest var on the way
  std::vector<int> sources;  // saved vars
};

MadeChain ChainOf(const Graph& graph, int var, const MadeAgain& again) {
  MadeChain chain;
  absl::flat_hash_set<int> seen;
  std::vector<int> open = {var};
  while (!open.empty() && chain.nodes <= kLongestChain) {
    const int made = open.back();
    const OperatorNode& node = graph.node(graph.var(made).producer);
    open.pop_back();
    ++chain.nodes;
    chain.largest = std::max(chain.largest, BytesOf(graph, made));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      if (!ReadsOnDevice(node, i) || !seen.insert(input).second) continue;
      (again[input] != kKept ? open : chain.sources).push_back(input);
    }
  }
  return chain;
}

// Returns whether a node condenses vars computed by `nodes` into something much smaller.
bool Summarises(const Graph& graph, const OperatorNode& node, const std::vector<bool>& nodes) {
  if (node.op->role() != Role::kCompute || !node.op->aliasing(graph.SiteOf(node)).updates.empty()) {
    return false;
  }
  int64_t read = 0, made = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!nodes[static_cast<size_t>(graph.var(node.inputs[i]).producer)]) return false;
    if (ReadsOnDevice(node, i)) read += BytesOf(graph, node.inputs[i]);
  }
  for (const int output : node.outputs) made += BytesOf(graph, output);
  return made <= read / kMuchSmaller;
}

// Returns whether a var needs no memory of its own: it exists throughout, or is the caller's.
bool IsFree(const Graph& graph, int var) {
  return graph.node(graph.var(var).producer).op->role() != Role::kCompute;
}

}  // namespace

std::vector<bool> NodesTowards(const Graph& graph, int var) {
  std::vector<bool> towards(graph.nodes().size(), false);
  towards[graph.var(var).producer] = true;
  for (int n = graph.var(var).producer; n >= 0; --n) {
    if (!towards[n]) continue;
    for (const int input : graph.node(n).inputs) towards[graph.var(input).producer] = true;
  }
  for (size_t n = 0; n < towards.size(); ++n) {
    if (!towards[n]) towards[n] = Summarises(graph, graph.node(static_cast<int>(n)), towards);
  }
  return towards;
}

bool CanMakeAgain(const Graph& graph, int var) {
  const OperatorNode& node = graph.node(graph.var(var).producer);
  return node.op->role() == Role::kCompute && node.outputs.size() == 1 &&
         node.op->aliasing(graph.SiteOf(node)).updates.empty();
}

bool IsCheap(const Graph& graph, int var) {
  const OperatorNode& node = graph.node(graph.var(var).producer);
  return node.op->Computation(graph.SiteOf(node)) / kFewOperations <=
         graph.var(var).type.shape.num_elements();
}

MadeAgain CheapToMakeAgain(const Graph& graph, int loss) {
  const std::vector<bool> towards = NodesTowards(graph, loss);
  std::vector<bool> kept(graph.vars().size(), false);  // vars that a node after the loss reads
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    for (size_t i = 0; i < node.inputs.size() && !towards[n]; ++i) {
      const int var = node.inputs[i];
      if (ReadsOnDevice(node, i) && towards[graph.var(var).producer]) kept[var] = true;
    }
  }
  MadeAgain again(graph.vars().size(), kKept);
  for (size_t v = 0; v < graph.vars().size(); ++v) {
    const int var = static_cast<int>(v);
    if (!towards[graph.var(var).producer] || !CanMakeAgain(graph, var) || !IsCheap(graph, var)) {
      continue;
    }
    again[v] = kAnew;
    if (!kept[v]) continue;  // only on the way when another var is recomputed
    const MadeChain chain = ChainOf(graph, var, again);
    int64_t more = 0;
    for (const int source : chain.sources) {
      if (!kept[source] && !IsFree(graph, source)) more += BytesOf(graph, source);
    }
    if (chain.nodes > kLongestChain || more >= BytesOf(graph, var) ||
        chain.largest / kMuchSmaller >= BytesOf(graph, var)) {
      again[v] = kKept;
      continue;
    }
    for (const int source : chain.sources) kept[source] = true;
    kept[v] = false;
  }
  return again;
}

}  // namespace ashlar
