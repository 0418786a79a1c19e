// Replaces chains of nodes by single nodes; the fusing passes are written with it.
#ifndef ASHLAR_GRAPH_PASSES_NODE_MERGER_H_
#define ASHLAR_GRAPH_PASSES_NODE_MERGER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph_builder.h"
#include "graph/operator_table.h"
#include "graph/rewriter.h"

namespace ashlar {

// Nodes are named by their index in the source graph. A merged node takes the position of the last
// node of its chain. There all operands are already available, so no cycle can arise.
class NodeMerger {
 public:
  explicit NodeMerger(const Graph& source);

  // Returns the current operator of a node.
  const Operator& op(int node) const { return *nodes_[node].op; }
  std::vector<InputInfo> InputInfos(int node) const;

  // Returns the node whose only output is input `input` of `node` and has no other reader, or -1.
  int SoleProducer(int node, int input) const;

  // Returns the inputs of `replacement` in place of these two nodes. Valid until the next Merge.
  std::vector<InputInfo> InputInfos(int producer, int consumer,
                                    const Replacement& replacement) const;

  // Replaces `chain`, in which each node is the only reader of its predecessor. Operands are inputs
  // of the first node (producer) and of the last one (consumer). The result keeps the first node's
  // name, id and recorded workspace (without its size), and the last node's output vars.
  void Merge(absl::Span<const int> chain, const Replacement& replacement);

  absl::StatusOr<Graph> Finish(const OperatorTable& operators) &&;

 private:
  struct Input {
    int var = -1;  // of the source; -1: a new constant
    HostTensor constant;
  };
  struct Node {
    OperatorPtr op;
    std::vector<Input> inputs;
    int first = 0;          // of the chain it replaces
    bool absorbed = false;  // into a later node
  };

  void CountReads(const Node& node, int change);
  GraphBuilder::NodeOptions OptionsOf(const GraphRewriter& rewriter, int node) const;

  const Graph& source_;
  std::vector<Node> nodes_;
  std::vector<int> reads_;  // by source var: the number of inputs that hold it
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PASSES_NODE_MERGER_H_
