// Replaces chains of nodes by single ones; the fusing passes are written with it.
#ifndef ASHLAR_GRAPH_PASSES_NODE_MERGER_H_
#define ASHLAR_GRAPH_PASSES_NODE_MERGER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/operator_table.h"
#include "graph/rewriter.h"

namespace ashlar {

// Nodes are named by their index in the source graph throughout. A merged node stands at the place
// of the last of its chain, where the operands of all of them are there already: no cycle can
// arise.
class NodeMerger {
 public:
  explicit NodeMerger(const Graph& source);

  // A node as it is now.
  const Operator& op(int node) const { return *nodes_[node].op; }
  std::vector<InputInfo> InputInfos(int node) const;

  // The node whose only output is input `input` of `node` and nothing else, or -1.
  int SoleProducer(int node, int input) const;

  // The inputs that `replacement` would have in the place of these two; until the next Merge.
  std::vector<InputInfo> InputInfos(int producer, int consumer,
                                    const Replacement& replacement) const;

  // Puts `replacement` in the place of `chain`, each node of which reads its predecessor alone. Its
  // operands are inputs of the first (producer) and last (consumer) of them. It keeps the first's
  // name, id and recorded workspace, but for its size, and the last's output vars.
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
    int first = 0;          // of the chain it stands for
    bool absorbed = false;  // into a later node
  };

  void CountReads(const Node& node, int change);
  GraphBuilder::NodeOptions OptionsOf(const GraphRewriter& rewriter, int node) const;

  const Graph& source_;
  std::vector<Node> nodes_;
  std::vector<int> reads_;  // by source var: inputs that hold it
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PASSES_NODE_MERGER_H_
