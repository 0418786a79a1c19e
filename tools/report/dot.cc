#include "tools/report/dot.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/format.h"

namespace ashlar {
namespace {

std::string Quoted(absl::string_view name) {
  return absl::StrReplaceAll(FormatName(name), {{"\\", "\\\\"}, {"\"", "\\\""}});
}

}  // namespace

std::string DotText(const Graph& graph) {
  std::string text = "digraph model {\n  node [shape=box];\n";
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const OperatorNode& node = graph.node(static_cast<int>(i));
    if (node.op->role() == Role::kConstant) continue;
    absl::StrAppend(&text, "  n", i, " [label=\"", Quoted(node.name), "\\n",
                    Quoted(node.op->type()), "\"];\n");
    for (int input : node.inputs) {
      const Var& var = graph.var(input);
      if (graph.node(var.producer).op->role() == Role::kConstant) continue;
      absl::StrAppend(&text, "  n", var.producer, " -> n", i, " [label=\"",
                      Quoted(var.type.ToString()), "\"];\n");
    }
  }
  return text + "}\n";
}

}  // namespace ashlar
