// Convolution, bias, residual and activation become one operator, as far as a tensor between them
// has no other reader.
#include <algorithm>

#include "graph/passes/node_merger.h"
#include "graph/passes/pass.h"

namespace ashlar {
namespace {

// RewriteRules::Absorb or RewriteRules::Chain.
using Rule = std::optional<Replacement> (RewriteRules::*)(absl::Span<const InputInfo> inputs,
                                                          const Consumer& consumer) const;

// Merges `consumer` into one of its producers; false if none takes it. The latest producer is asked
// first: of two convolutions that are added, it takes the result of the other as an operand.
bool MergeIntoProducer(NodeMerger& merger, Rule rule, int consumer) {
  struct Edge {
    int producer, input;
  };
  const std::vector<InputInfo> infos = merger.InputInfos(consumer);
  std::vector<Edge> edges;
  for (int i = 0; i < static_cast<int>(infos.size()); ++i) {
    const int producer = merger.SoleProducer(consumer, i);
    if (producer >= 0) edges.push_back({producer, i});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.producer > b.producer; });
  for (const Edge& edge : edges) {
    const std::optional<Replacement> replacement = (merger.op(edge.producer).*rule)(
        merger.InputInfos(edge.producer), {merger.op(consumer), edge.input, infos});
    if (!replacement) continue;
    merger.Merge({edge.producer, consumer}, *replacement);
    return true;
  }
  return false;
}

absl::StatusOr<Graph> MergeAll(const Graph& graph, const OperatorTable& operators, Rule rule) {
  NodeMerger merger(graph);
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
    while (MergeIntoProducer(merger, rule, node)) {
    }
  }
  return std::move(merger).Finish(operators);
}

}  // namespace

absl::StatusOr<Graph> Fuse(const Graph& graph, const OperatorTable& operators) {
  return MergeAll(graph, operators, &RewriteRules::Absorb);
}

absl::StatusOr<Graph> Chain(const Graph& graph, const OperatorTable& operators) {
  return MergeAll(graph, operators, &RewriteRules::Chain);
}

}  // namespace ashlar
