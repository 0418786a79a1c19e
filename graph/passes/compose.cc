// Replaces operators for which a device has no kernel by operators for which it has one
// (RewriteRules::Compose).
#include <algorithm>
#include <utility>

#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// The limit on nested compositions. Operators are composed of simpler ones, so only an operator
// that contains itself reaches it.
constexpr int kDeepest = 8;

bool NeedsComposing(const OperatorNode& node, const HasKernel& has_kernel) {
  return node.op->role() == Role::kCompute && !has_kernel(*node.op);
}

// Returns Internal if a composition's types differ from the operator's own.
absl::Status CheckOutputs(const Graph& graph, const OperatorNode& node, const Graph& made,
                          absl::Span<const int> outputs) {
  bool equal = outputs.size() == node.outputs.size();
  for (size_t i = 0; equal && i < outputs.size(); ++i) {
    equal = made.var(outputs[i]).type == graph.var(node.outputs[i]).type;
  }
  if (equal) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(Describe(node), ": its composition has other outputs"));
}

// Composes one level; `composed` says whether there was anything to compose.
absl::StatusOr<Graph> ComposeOnce(const Graph& graph, const HasKernel& has_kernel, bool& composed) {
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    std::vector<int> outputs;
    const auto first_new = static_cast<int>(rewriter.builder().graph().vars().size());
    if (NeedsComposing(node, has_kernel)) {
      absl::StatusOr<std::vector<int>> made =
          node.op->Compose(rewriter.builder(), rewriter.MapAll(node.inputs));
      if (!made.ok()) return Annotate(made.status(), Describe(node));
      outputs = *std::move(made);
    }
    if (outputs.empty()) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
      continue;
    }
    composed = true;
    ASHLAR_RETURN_IF_ERROR(CheckOutputs(graph, node, rewriter.builder().graph(), outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      rewriter.Replace(node.outputs[i], outputs[i]);
      if (outputs[i] < first_new) continue;  // an input, passed through
      rewriter.builder().TakeIdentity(outputs[i], graph, node.outputs[i]);
    }
  }
  return std::move(rewriter).Finish();
}

}  // namespace

absl::StatusOr<Graph> Compose(Graph graph, const HasKernel& has_kernel) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const bool needed =
        std::any_of(graph.nodes().begin(), graph.nodes().end(),
                    [&](const OperatorNode& node) { return NeedsComposing(node, has_kernel); });
    if (!needed) return graph;
    bool composed = false;
    ASHLAR_ASSIGN_OR_RETURN(Graph made, ComposeOnce(graph, has_kernel, composed));
    if (!composed) return graph;
    graph = std::move(made);
  }
  return graph;
}

}  // namespace ashlar
