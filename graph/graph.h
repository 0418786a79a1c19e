// The graph: vars and operator nodes, immutable once built.
#ifndef ASHLAR_GRAPH_GRAPH_H_
#define ASHLAR_GRAPH_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/comp_node.h"
#include "graph/operator.h"
#include "graph/operator_table.h"

namespace ashlar {

// A value, produced by exactly one operator node.
struct Var {
  int id = 0;  // from the graph's only counter, shared with operators; stable across passes
  std::string name;
  TensorType type;
  CompNode comp_node;
  int producer = 0;      // index into Graph::nodes()
  int output_index = 0;  // among the outputs of the producer
};

// A workspace that another program lists among an operator's outputs. It is not a var here:
// Ashlar's kernels declare their own.
struct RecordedWorkspace {
  int id = 0;         // from the same counter
  int64_t bytes = 0;  // 0 if the size is unknown
};

struct OperatorNode {
  int id = 0;
  std::string name;
  OperatorPtr op;
  std::vector<int> inputs;   // indices into Graph::vars()
  std::vector<int> outputs;  // as Operator::Infer lists them
  int priority = 0;
  std::string
      binding;  // the caller's name for a Role::kInput or kOutput node, stable across passes
  std::shared_ptr<const HostTensor>
      constant;  // the value of a Role::kConstant node, otherwise null
  std::optional<RecordedWorkspace> recorded_workspace;

  // Returns the id of the node's workspace in plans; vars have other ids.
  int workspace_id() const { return recorded_workspace ? recorded_workspace->id : id; }
  std::string workspace_name() const { return name + ":workspace"; }
};

// Returns the name of a node for messages: "conv[3] (ConvBiasForward, 17)". Pass `longest_name` to
// cut names from unchecked files at so many characters.
std::string Describe(const OperatorNode& node, size_t longest_name = std::string::npos);
inline constexpr size_t kLongestUncheckedName = 200;

// A var that the caller binds by name.
struct Binding {
  std::string name;
  int var = 0;   // output 0 of a Role::kInput node, input 0 of a Role::kOutput node
  int node = 0;  // that node
};

class Graph {
 public:
  const std::vector<Var>& vars() const { return vars_; }
  // Topologically ordered: producers first.
  const std::vector<OperatorNode>& nodes() const { return nodes_; }
  const Var& var(int index) const { return vars_[index]; }
  const OperatorNode& node(int index) const { return nodes_[index]; }

  // Inputs and outputs in the order of their declaration, which is node order until a pass moves
  // nodes. Names are unique within each list.
  const std::vector<Binding>& inputs() const { return inputs_; }
  const std::vector<Binding>& outputs() const { return outputs_; }

  // Returns the nodes that read a var, in ascending order; each node is listed once.
  const std::vector<int>& readers(int var) const { return readers_[var]; }
  // Returns whether a node needs the var's value on the host before the run.
  bool HasHostReader(int var) const;
  std::vector<TensorType> InputTypes(const OperatorNode& node) const;
  // Includes the values of constants and of inputs that the node needs as InputUse::kHostValue.
  std::vector<InputInfo> InputInfos(const OperatorNode& node) const;
  std::vector<TensorType> OutputTypes(const OperatorNode& node) const;
  OwnedSite SiteOf(const OperatorNode& node) const { return {InputInfos(node), OutputTypes(node)}; }

  // Returns whether a node computes with weights: it has operations and reads a constant on the
  // device. Budgets count the FLOPs of these nodes.
  bool HasWeights(const OperatorNode& node) const;

  // Returns the value of a var whose producer is a constant, otherwise null.
  const HostTensor* constant(int var) const { return nodes_[vars_[var].producer].constant.get(); }
  // Returns the value of a constant, or of a var that a node needs as InputUse::kHostValue;
  // otherwise null.
  const HostTensor* host_value(int var) const;
  // Returns the largest id in use plus one.
  int next_id() const { return next_id_; }

  // Returns a copy of the graph without the data of these constant vars, so that the data can be
  // freed. Shapes stay.
  Graph WithoutConstantData(absl::Span<const int> vars, const OperatorTable& operators) const;

 private:
  friend class GraphBuilder;
  std::vector<Var> vars_;
  std::vector<OperatorNode> nodes_;
  std::vector<Binding> inputs_, outputs_;
  std::vector<std::vector<int>> readers_;
  absl::flat_hash_map<int, HostTensor> host_values_;  // by var: values needed as kHostValue
  int next_id_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_GRAPH_H_
