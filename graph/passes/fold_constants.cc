// Constant folding: evaluates nodes with known inputs on the host and replaces them by constants.
#include <optional>

#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Returns the input whose bytes, under the same type, are the node's only output.
std::optional<int> IdentityOf(const Graph& graph, const OperatorNode& node) {
  if (node.op->role() != Role::kCompute || node.outputs.size() != 1) return std::nullopt;
  const std::vector<Aliasing::View> views = node.op->aliasing(graph.SiteOf(node)).views;
  if (views.empty() || views[0].offset != 0) return std::nullopt;
  const int input = node.inputs[views[0].input];
  if (graph.var(input).type != graph.var(node.outputs[0]).type) return std::nullopt;
  return input;
}

}  // namespace

absl::StatusOr<Graph> FoldConstants(const Graph& graph, const OperatorTable& operators) {
  // A builder knows the static values of the nodes it has built, so the graph is built once to get
  // them.
  GraphRewriter original(graph);
  for (const OperatorNode& node : graph.nodes()) ASHLAR_RETURN_IF_ERROR(original.Copy(node));

  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    const std::vector<int>& values = node.outputs;
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
