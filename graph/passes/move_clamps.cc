// Moves the clamp of an operator's output into its only reader, as a clamp of the reader's input.
//
// Libraries have no tensor-core engine for a convolution followed by a clamp
// (benchmarks/results/gpu-engines.md). There the clamp is a pass over the whole tensor. A depthwise
// convolution, which is bound by memory, clamps while it loads.
#include <algorithm>
#include <map>
#include <utility>

#include "graph/graph_builder.h"
#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// By node: the operator that replaces it, and whether its output is unchanged.
struct Change {
  OperatorPtr op;
  bool same_output = false;
};
using Changes = std::map<int, Change>;

// Moves the clamp of the producer of input `input` into the node.
void MoveInto(const Graph& graph, int index, int input, Changes& changes) {
  const OperatorNode& node = graph.node(index);
  const int var = node.inputs[static_cast<size_t>(input)];
  const int producer = graph.var(var).producer;
  if (graph.node(producer).outputs.size() != 1 || graph.readers(var).size() != 1 ||
      std::count(node.inputs.begin(), node.inputs.end(), var) != 1 || changes.contains(producer) ||
      changes.contains(index)) {
    return;
  }
  std::optional<Unclamped> made =
      graph.node(producer).op->WithoutClamp(graph.InputInfos(graph.node(producer)));
  if (!made) return;
  OperatorPtr reader = node.op->ClampingInput(graph.InputInfos(node), input, made->low, made->high);
  if (reader == nullptr) return;
  changes[producer] = {std::move(made->op), false};
  changes[index] = {std::move(reader), true};
}

// Adds `op` in place of `node`; its output holds other values, so it is another var.
absl::Status AddUnclamped(const OperatorNode& node, OperatorPtr op, GraphRewriter& rewriter) {
  GraphBuilder::NodeOptions options = rewriter.Identity(node);
  options.output_ids.clear();
  options.output_names.clear();
  options.recorded_workspace.reset();
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> outputs,
      rewriter.builder().Add(std::move(op), rewriter.MapAll(node.inputs), std::move(options)));
  rewriter.Replace(node.outputs[0], outputs[0]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> MoveClamps(const Graph& graph, const OperatorTable& /*operators*/) {
  Changes changes;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const int inputs = static_cast<int>(graph.node(i).inputs.size());
    for (int input = 0; input < inputs; ++input) MoveInto(graph, i, input, changes);
  }
  GraphRewriter rewriter(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const OperatorNode& node = graph.node(i);
    const auto changed = changes.find(i);
    if (changed == changes.end()) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
    } else if (changed->second.same_output) {
      ASHLAR_RETURN_IF_ERROR(
          rewriter.Substitute(node, changed->second.op, rewriter.MapAll(node.inputs)));
    } else {
      ASHLAR_RETURN_IF_ERROR(AddUnclamped(node, changed->second.op, rewriter));
    }
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
