// Folds channel-wise scales and shifts (batch norm) into the weights and the bias of the
// convolution before them.
#include <optional>

#include "graph/passes/node_merger.h"
#include "graph/passes/pass.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Returns `node` as an affine map if it maps the output of `producer` and is its only reader.
std::optional<ChannelAffine> AffineAfter(const NodeMerger& merger, int producer, int node) {
  std::optional<ChannelAffine> affine = merger.op(node).AsChannelAffine(merger.InputInfos(node));
  if (!affine || merger.SoleProducer(node, affine->input) != producer) return std::nullopt;
  return affine;
}

// Returns `second` after `first`.
ChannelAffine Compose(ChannelAffine first, const ChannelAffine& second) {
  for (size_t c = 0; c < first.scale.size(); ++c) {
    first.scale[c] *= second.scale[c];
    first.shift[c] = first.shift[c] * second.scale[c] + second.shift[c];
  }
  return first;
}

}  // namespace

// Composes a chain of affine operators in double before folding it, so that weights are rounded
// once.
absl::StatusOr<Graph> FoldScale(const Graph& graph, const OperatorTable& operators) {
  NodeMerger merger(graph);
  std::vector<bool> in_run(graph.nodes().size(), false);
  for (int head = 0; head < static_cast<int>(graph.nodes().size()); ++head) {
    if (in_run[head]) continue;
    std::vector<int> run = {head};
    std::optional<ChannelAffine> total;
    for (;;) {
      const std::vector<int>& readers = graph.readers(graph.node(run.back()).outputs[0]);
      if (readers.size() != 1 || in_run[readers[0]]) break;
      const std::optional<ChannelAffine> next = AffineAfter(merger, run.back(), readers[0]);
      if (!next) break;
      total = total ? Compose(*std::move(total), *next) : *next;
      run.push_back(readers[0]);
      in_run[readers[0]] = true;
    }
    if (!total) continue;
    const std::optional<Replacement> replacement =
        merger.op(head).AbsorbAffine(merger.InputInfos(head), *total);
    if (!replacement) continue;
    merger.Merge(run, *replacement);
  }
  return std::move(merger).Finish(operators);
}

}  // namespace ashlar
