#include "graph/rewriter.h"

#include <algorithm>
#include <utility>

#include "graph/state.h"
#include "graph/status.h"

namespace ashlar {
namespace {

CompNode CompNodeOf(const Graph& graph) {
  return graph.vars().empty() ? CompNode() : graph.var(0).comp_node;
}

}  // namespace

GraphRewriter::GraphRewriter(const Graph& source)
    : source_(source),
      builder_(CompNodeOf(source), source.next_id()),
      map_(source.vars().size(), -1) {}

std::vector<int> GraphRewriter::MapAll(absl::Span<const int> source_vars) const {
  std::vector<int> mapped;
  for (int var : source_vars) mapped.push_back(Map(var));
  return mapped;
}

GraphBuilder::NodeOptions GraphRewriter::Identity(const OperatorNode& node) const {
  GraphBuilder::NodeOptions options;
  options.name = node.name;
  options.id = node.id;
  options.priority = node.priority;
  options.binding = node.binding;
  for (int output : node.outputs) {
    const Var& var = source_.var(output);
    options.output_ids.push_back(var.id);
    options.output_names.push_back(var.name);
    options.output_formats.push_back(var.type.format);
  }
  if (node.recorded_workspace) {
    options.recorded_workspace = RecordedWorkspace{.id = node.recorded_workspace->id};
  }
  return options;
}

absl::Status GraphRewriter::Copy(const OperatorNode& node) {
  GraphBuilder::NodeOptions options = Identity(node);
  options.recorded_workspace = node.recorded_workspace;
  return Add(node, node.op, MapAll(node.inputs), std::move(options));
}

absl::Status GraphRewriter::Substitute(const OperatorNode& node, OperatorPtr op,
                                       std::vector<int> new_inputs) {
  GraphBuilder::NodeOptions options = Identity(node);
  options.recorded_workspace.reset();
  return Add(node, std::move(op), std::move(new_inputs), std::move(options));
}

absl::Status GraphRewriter::Add(const OperatorNode& node, OperatorPtr op,
                                std::vector<int> new_inputs, GraphBuilder::NodeOptions options) {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<int> outputs,
                          builder_.Add(std::move(op), std::move(new_inputs), std::move(options)));
  for (size_t i = 0; i < outputs.size(); ++i) Replace(node.outputs[i], outputs[i]);
  return absl::OkStatus();
}

absl::StatusOr<Graph> GraphRewriter::Finish() && {
  builder_.OrderBindingsAs(source_);
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, std::move(builder_).Build());
  return Prune(graph);
}

absl::StatusOr<Graph> Prune(const Graph& graph) {
  std::vector<bool> needed = FindStateUse(graph).updates;
  for (int i = static_cast<int>(graph.nodes().size()) - 1; i >= 0; --i) {
    const OperatorNode& node = graph.node(i);
    needed[i] = needed[i] || node.op->role() == Role::kInput || node.op->role() == Role::kOutput;
    if (!needed[i]) continue;
    for (int input : node.inputs) needed[graph.var(input).producer] = true;
  }
  if (std::find(needed.begin(), needed.end(), false) == needed.end()) return graph;
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (needed[i]) ASHLAR_RETURN_IF_ERROR(rewriter.Copy(graph.node(static_cast<int>(i))));
  }
  rewriter.builder().OrderBindingsAs(graph);
  return std::move(rewriter.builder()).Build();
}

}  // namespace ashlar
