// Fuses convolution, bias, residual and activation into one operator if the tensors between them
// have no other reader.
#include <algorithm>

#include "graph/passes/node_merger.h"
#include "graph/passes/pass.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// A pointer to RewriteRules::Absorb, AbsorbQuantized or Chain.
using Rule = std::optional<Replacement> (RewriteRules::*)(absl::Span<const InputInfo> inputs,
                                                          const Consumer& consumer) const;

// Returns whether a replacement may replace two nodes.
using MayMerge = bool (*)(const NodeMerger& merger, int producer, int consumer,
                          const Replacement& replacement);

bool Always(const NodeMerger&, int, int, const Replacement&) { return true; }

QuantizationRule QuantizationRuleOf(const Operator& op, absl::Span<const InputInfo> inputs) {
  const absl::StatusOr<std::vector<TensorType>> outputs = op.Infer(inputs);
  if (!outputs.ok() || outputs->size() != 1) return QuantizationRule::kFloats;
  return op.quantization_rule({inputs, *outputs});
}

bool KeepsEightBits(const NodeMerger& merger, int producer, int consumer,
                    const Replacement& replacement) {
  const auto has = [&](int node) {
    return QuantizationRuleOf(merger.op(node), merger.InputInfos(node)) !=
           QuantizationRule::kFloats;
  };
  if (!has(producer)) return false;
  return QuantizationRuleOf(*replacement.op, merger.InputInfos(producer, consumer, replacement)) !=
         QuantizationRule::kFloats;
}

// Merges `consumer` into one of its producers; false if none accepts it. The latest producer is
// tried first: if two convolutions are added, it takes the other's result as an operand.
bool MergeIntoProducer(NodeMerger& merger, Rule rule, MayMerge may_merge, int consumer) {
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
    if (!replacement || !may_merge(merger, edge.producer, consumer, *replacement)) continue;
    merger.Merge({edge.producer, consumer}, *replacement);
    return true;
  }
  return false;
}

absl::StatusOr<Graph> MergeAll(const Graph& graph, const OperatorTable& operators, Rule rule,
                               MayMerge may_merge = Always) {
  NodeMerger merger(graph);
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
    while (MergeIntoProducer(merger, rule, may_merge, node)) {
    }
  }
  return std::move(merger).Finish(operators);
}

}  // namespace

absl::StatusOr<Graph> Fuse(const Graph& graph, const OperatorTable& operators) {
  return MergeAll(graph, operators, &RewriteRules::Absorb);
}

absl::StatusOr<Graph> FuseForQuantization(const Graph& graph, const OperatorTable& operators) {
  ASHLAR_ASSIGN_OR_RETURN(const Graph fused,
                          MergeAll(graph, operators, &RewriteRules::Absorb, KeepsEightBits));
  return MergeAll(fused, operators, &RewriteRules::Chain, KeepsEightBits);
}

absl::StatusOr<Graph> FuseQuantizedSums(const Graph& graph, const OperatorTable& operators) {
  return MergeAll(graph, operators, &RewriteRules::AbsorbQuantized);
}

absl::StatusOr<Graph> Chain(const Graph& graph, const OperatorTable& operators) {
  return MergeAll(graph, operators, &RewriteRules::Chain);
}

}  // namespace ashlar
