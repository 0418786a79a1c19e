// Builds graphs.
#ifndef ASHLAR_GRAPH_GRAPH_BUILDER_H_
#define ASHLAR_GRAPH_GRAPH_BUILDER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/comp_node.h"
#include "graph/graph.h"
#include "graph/operator.h"
#include "graph/static_values.h"
#include "graph/tensor.h"

namespace ashlar {

// Builds a graph node by node. Each node is checked and its outputs are inferred when it is added.
// Errors name the node, its type and its id.
class GraphBuilder {
 public:
  struct NodeOptions {
    std::string name;             // empty: MegEngine's automatic name
    std::optional<int> id;        // empty: from the counter
    std::vector<int> output_ids;  // empty: from the counter, right after the node's
    std::vector<std::string> output_names;
    std::vector<Format> output_formats;  // empty: kDefault
    int priority = 0;
    // If its id is below 0, it gets the next id of the counter after the outputs' ids.
    std::optional<RecordedWorkspace> recorded_workspace;
    std::string binding;  // empty: the node's name (inputs), the input var's name (outputs)
  };

  explicit GraphBuilder(CompNode comp_node = {}, int next_id = 0);

  // Adds a node whose inputs are already in the graph; returns the indices of its outputs.
  absl::StatusOr<std::vector<int>> Add(OperatorPtr op, std::vector<int> inputs,
                                       NodeOptions options);
  absl::StatusOr<std::vector<int>> Add(OperatorPtr op, std::vector<int> inputs) {
    return Add(std::move(op), std::move(inputs), NodeOptions());
  }
  const Graph& graph() const { return graph_; }
  // Gives `var` the name and id of a var of another graph, and its producer too if that has no
  // other output. The ids must not be in use here.
  void TakeIdentity(int var, const Graph& other, int other_var);
  // Sorts inputs and outputs as in another graph, independently of the order of nodes. Names that
  // `other` lacks come last.
  void OrderBindingsAs(const Graph& other);
  // Returns the static value of a var, which is a constant or computed from constants and shapes.
  // Null if unknown. The pointer is valid until the next Add.
  const HostTensor* StaticValue(int var) { return values_.Find(graph_, var); }

  // Checks the whole graph (unique ids and input/output names, at least one output) and returns it.
  absl::StatusOr<Graph> Build() &&;

 private:
  Graph graph_;
  CompNode comp_node_;
  StaticValues values_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_GRAPH_BUILDER_H_
