// Constant folding: nodes whose inputs are known are evaluated on the host and become constants.
#include <optional>

#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// The input whose bytes, under the same type, are the node's only value.
std::optional<int> IdentityOf(const Graph& graph, const OperatorNode& node) {
  const std::vector<TensorType> outputs = graph.OutputTypes(node);
  if (node.op->role() != Role::kCompute || outputs.size() != 1) return std::nullopt;
  const std::optional<View> view = node.op->ReadonlyForward(graph.InputInfos(node), outputs);
  if (!view.has_value() || view->offset != 0) return std::nullopt;
  const int input = node.inputs[view->input];
  if (graph.var(input).type != outputs[0]) return std::nullopt;
  return input;
}

}  // namespace

absl::StatusOr<Graph> FoldConstants(const Graph& graph, const OperatorTable& operators) {
  // A builder knows the static values of what it has built, so the graph is built once to ask.
  GraphRewriter original(graph);
  for (const OperatorNode& node : graph.nodes()) ASHLAR_RETURN_IF_ERROR(original.Copy(node));

  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    const absl::Span<const int> values = graph.value_outputs(node);
    if (node.op->role() == Role::kCompute && values.size() == 1 &&
        graph.var(values[0]).type.format == Format::kDefault) {
      const HostTensor* value = original.builder().StaticValue(original.Map(values[0]));
      if (value != nullptr) {
        ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, operators.MakeConstant(*value), {}));
        continue;
      }
    }
    if (const std::optional<int> input = IdentityOf(graph, node)) {
      rewriter.Replace(values[0], rewriter.Map(*input));
      continue;
    }
    ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
