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
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/comp_node.h"
#include "graph/operator.h"
#include "graph/operator_table.h"
#include "graph/static_values.h"

namespace ashlar {

// One value. Made by exactly one operator node.
struct Var {
  int id = 0;  // from the graph's one counter, shared with operators; stable across passes
  std::string name;
  TensorType type;
  CompNode comp_node;
  int producer = 0;      // index into Graph::nodes()
  int output_index = 0;  // among the outputs of the producer
};

// The workspace that another program lists among an operator's outputs. It is no var here: Ashlar's
// kernels state their own.
struct RecordedWorkspace {
  int id = 0;         // from the same counter
  int64_t bytes = 0;  // 0 where the size is not known
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
  std::shared_ptr<const HostTensor> constant;  // the value of a Role::kConstant node, else null
  std::optional<RecordedWorkspace> recorded_workspace;

  // The id of its workspace in plans, beside the ids of vars.
  int workspace_id() const { return recorded_workspace ? recorded_workspace->id : id; }
  std::string workspace_name() const { return name + ":workspace"; }
};

// The name of a node in messages: "conv[3] (ConvBiasForward, 17)". Where the name comes from a file
// that nobody has checked, it is cut at `longest_name` characters.
std::string Describe(const OperatorNode& node, size_t longest_name = std::string::npos);
inline constexpr size_t kLongestUncheckedName = 200;

// A var that the caller binds, under its name.
struct Binding {
  std::string name;
  int var = 0;   // output 0 of a Role::kInput node, input 0 of a Role::kOutput node
  int node = 0;  // that node
};

class Graph {
 public:
  const std::vector<Var>& vars() const { return vars_; }
  // In a topological order: producers first.
  const std::vector<OperatorNode>& nodes() const { return nodes_; }
  const Var& var(int index) const { return vars_[index]; }
  const OperatorNode& node(int index) const { return nodes_[index]; }

  // Inputs and outputs as declared, which is node order until a pass moves nodes. Names are unique
  // within each list.
  const std::vector<Binding>& inputs() const { return inputs_; }
  const std::vector<Binding>& outputs() const { return outputs_; }

  // Nodes that read a var, ascending; a node that reads it twice is listed once.
  const std::vector<int>& readers(int var) const { return readers_[var]; }
  // Whether a node needs the var's value on the host, before the run.
  bool HasHostReader(int var) const;
  std::vector<TensorType> InputTypes(const OperatorNode& node) const;
  // With the values that are constants or that the node needs as InputUse::kHostValue.
  std::vector<InputInfo> InputInfos(const OperatorNode& node) const;
  std::vector<TensorType> OutputTypes(const OperatorNode& node) const;
  OwnedSite SiteOf(const OperatorNode& node) const { return {InputInfos(node), OutputTypes(node)}; }

  // Whether a node computes with weights: it has operations, and a constant that it reads on the
  // device. Budgets are about their FLOPs.
  bool HasWeights(const OperatorNode& node) const;

  // The value of a var whose producer is a constant, else null.
  const HostTensor* constant(int var) const { return nodes_[vars_[var].producer].constant.get(); }
  // The value of a constant, or of a var that a node needs as InputUse::kHostValue; else null.
  const HostTensor* host_value(int var) const;
  // One more than the largest id in use.
  int next_id() const { return next_id_; }

  // The same graph without the data of these constant vars (shapes stay), so that it can be freed.
  Graph WithoutConstantData(absl::Span<const int> vars, const OperatorTable& operators) const;

 private:
  friend class GraphBuilder;
  std::vector<Var> vars_;
  std::vector<OperatorNode> nodes_;
  std::vector<Binding> inputs_, outputs_;
  std::vector<std::vector<int>> readers_;
  absl::flat_hash_map<int, HostTensor> host_values_;  // by var: the ones needed as kHostValue
  int next_id_ = 0;
};

// Builds a graph node by node. Every node is checked and its outputs inferred as it is added;
// errors name the node, its type and id.
class GraphBuilder {
 public:
  struct NodeOptions {
    std::string name;             // empty: MegEngine's automatic name
    std::optional<int> id;        // empty: from the counter
    std::vector<int> output_ids;  // empty: from the counter, right after the node's
    std::vector<std::string> output_names;
    std::vector<Format> output_formats;  // empty: kDefault
    int priority = 0;
    // Its id comes from the counter, right behind the outputs', where it is below 0.
    std::optional<RecordedWorkspace> recorded_workspace;
    std::string binding;  // empty: the node's name (inputs), the input var's name (outputs)
  };

  explicit GraphBuilder(CompNode comp_node = {}, int next_id = 0);

  // Adds a node whose inputs are vars already there; returns its outputs' indices.
  absl::StatusOr<std::vector<int>> Add(OperatorPtr op, std::vector<int> inputs,
                                       NodeOptions options);
  absl::StatusOr<std::vector<int>> Add(OperatorPtr op, std::vector<int> inputs) {
    return Add(std::move(op), std::move(inputs), NodeOptions());
  }
  const Graph& graph() const { return graph_; }
  // A var, and its producer where that makes nothing else, takes the place of one of another graph:
  // its id, which nothing here may have, and its name.
  void TakeIdentity(int var, const Graph& other, int other_var);
  // Sorts inputs and outputs as in another graph, whatever the order of the nodes; names that are
  // not there come last.
  void OrderBindingsAs(const Graph& other);
  // The static value of a var: constant, or computed from constants and shapes. Null if unknown.
  // The pointer lives until the next Add.
  const HostTensor* StaticValue(int var) { return values_.Find(graph_, var); }

  // Validates the whole (unique ids and input/output names, at least one output) and hands it over.
  absl::StatusOr<Graph> Build() &&;

 private:
  Graph graph_;
  CompNode comp_node_;
  StaticValues values_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_GRAPH_H_
