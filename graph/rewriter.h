// Copies a graph node by node into a new one, with some nodes changed: the tool that passes
// are written with.
#ifndef ASHLAR_GRAPH_REWRITER_H_
#define ASHLAR_GRAPH_REWRITER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Visit the source's nodes in order; for each call Copy, or add others and Replace its outputs.
class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& source);

  // The new var that stands for a var of the source. It must have been copied or replaced.
  int Map(int source_var) const { return map_[source_var]; }
  std::vector<int> MapAll(absl::Span<const int> source_vars) const;
  // From now on `new_var` stands for `source_var`.
  void Replace(int source_var, int new_var) { map_[source_var] = new_var; }

  // Options that keep id, names, formats, priority and binding of a source node, and the id of its
  // recorded workspace, whose size is that of the operator as it was.
  GraphBuilder::NodeOptions Identity(const OperatorNode& node) const;
  // The node itself, with mapped inputs.
  absl::Status Copy(const OperatorNode& node);
  // Adds `op`, which has as many outputs, in the place of `node`: they keep the node's ids, names
  // and formats. A recorded workspace is dropped.
  absl::Status Substitute(const OperatorNode& node, OperatorPtr op, std::vector<int> new_inputs);

  const Graph& source() const { return source_; }
  GraphBuilder& builder() { return builder_; }

  // Builds, then drops nodes that no output needs (inputs and updates of state stay).
  absl::StatusOr<Graph> Finish() &&;

 private:
  // The new outputs stand for the outputs of `node`.
  absl::Status Add(const OperatorNode& node, OperatorPtr op, std::vector<int> new_inputs,
                   GraphBuilder::NodeOptions options);

  const Graph& source_;
  GraphBuilder builder_;
  std::vector<int> map_;
};

// The graph without nodes that no output and no update of state needs. Inputs stay.
absl::StatusOr<Graph> Prune(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_REWRITER_H_
