#include "graph/recompute.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/graph_builder.h"
#include "graph/recompute_order.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {

absl::StatusOr<Graph> Recompute(const Graph& graph, int loss, const MadeAgain& again, int reach) {
  const OrderWithCopies order = OrderMaker(graph, loss).MakeWithUpdates(again, reach);
  GraphRewriter rewriter(graph);
  GraphBuilder& builder = rewriter.builder();
  absl::flat_hash_map<int, int> copies;
  for (const OrderWithCopies::Placed& placed : order.placed) {
    const OperatorNode& node = graph.node(placed.node);
    std::vector<int> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int value = order.inputs[placed.first_input + i];
      const auto copy = copies.find(value);
      inputs.push_back(copy == copies.end() ? rewriter.Map(value) : copy->second);
    }
    GraphBuilder::NodeOptions options;
    if (placed.made >= 0) {
      options.name = absl::StrCat(node.name, ".again");
      options.priority = node.priority;
    } else {
      options = rewriter.Identity(node);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(node.op, std::move(inputs), std::move(options)));
    if (placed.made >= 0) {
      copies.emplace(placed.made, made[0]);
      continue;
    }
    for (size_t i = 0; i < made.size(); ++i) rewriter.Replace(node.outputs[i], made[i]);
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
