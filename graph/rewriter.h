// Copies a graph node by node and changes some nodes. Passes are written with it.
#ifndef ASHLAR_GRAPH_REWRITER_H_
#define ASHLAR_GRAPH_REWRITER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/graph_builder.h"

namespace ashlar {

// Visit the source's nodes in order. For each node call Copy, or add other nodes and call Replace
// for its outputs.
class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& source);

  // Returns the new var for a var of the source, which must have been copied or replaced.
  int Map(int source_var) const { return map_[source_var]; }
  std::vector<int> MapAll(absl::Span<const int> source_vars) const;
  // Makes `new_var` the new var for `source_var` from now on.
  void Replace(int source_var, int new_var) { map_[source_var] = new_var; }

  // Returns options that keep a source node's id, names, formats, priority and binding. They keep
  // the id of its recorded workspace too, whose size belongs to the unchanged operator.
  GraphBuilder::NodeOptions Identity(const OperatorNode& node) const;
  // Copies the node, with mapped inputs.
  absl::Status Copy(const OperatorNode& node);
  // Adds `op`, which has as many outputs as `node`, in its place. The outputs keep the node's ids,
  // names and formats. A recorded workspace is dropped.
  absl::Status Substitute(const OperatorNode& node, OperatorPtr op, std::vector<int> new_inputs);

  const Graph& source() const { return source_; }
  GraphBuilder& builder() { return builder_; }

  // Builds the graph, then drops nodes that no output needs (inputs and state updates stay).
  absl::StatusOr<Graph> Finish() &&;

 private:
  // Maps the outputs of `node` to the new outputs.
  absl::Status Add(const OperatorNode& node, OperatorPtr op, std::vector<int> new_inputs,
                   GraphBuilder::NodeOptions options);

  const Graph& source_;
  GraphBuilder builder_;
  std::vector<int> map_;
};

// Returns the graph without nodes that neither an output nor a state update needs. Inputs stay.
absl::StatusOr<Graph> Prune(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_REWRITER_H_
