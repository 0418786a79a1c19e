#include "serialization/input_shapes.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/table.h"

namespace ashlar {
namespace {

absl::Status CheckNames(const Graph& graph, const InputShapes& shapes) {
  std::set<std::string> names;
  for (const Binding& input : graph.inputs()) names.insert(input.name);
  for (const auto& [name, shape] : shapes) {
    if (names.count(name) != 0) continue;
    return absl::NotFoundError(
        absl::StrCat("no input '", name, "'; the model has: ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

// Returns the input operator with another shape, created through the table from changed parameters.
absl::StatusOr<OperatorPtr> Reshaped(const Operator& op, const Shape& shape) {
  ParamList params = op.params();
  for (auto& [name, value] : params) {
    if (name == "shape") value = std::vector<int64_t>(shape.dims().begin(), shape.dims().end());
  }
  return Operators().Make(op.type(), params);
}

}  // namespace

absl::StatusOr<Graph> WithInputShapes(const Graph& graph, const InputShapes& shapes) {
  ASHLAR_RETURN_IF_ERROR(CheckNames(graph, shapes));
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    OperatorPtr op = node.op;
    if (op->role() == Role::kInput) {
      if (const auto it = shapes.find(node.binding); it != shapes.end()) {
        ASHLAR_ASSIGN_OR_RETURN(op, Reshaped(*op, it->second));
      }
    }
    ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, op, rewriter.MapAll(node.inputs)));
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
