// Graphs of operators without meaning: they have sizes, aliases and workspace.
#ifndef ASHLAR_TESTS_RUNTIME_SCHEDULE_GRAPH_OF_BYTES_H_
#define ASHLAR_TESTS_RUNTIME_SCHEDULE_GRAPH_OF_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/graph.h"
#include "graph/graph_builder.h"
#include "gtest/gtest.h"
#include "runtime/schedule/storage.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar::testing {

struct TestNode {
  Role role = Role::kCompute;
  std::vector<int64_t> output_bytes = {};
  Aliasing aliasing = {};
  int64_t workspace = 0;
};

class TestOperator final : public Operator {
 public:
  explicit TestOperator(TestNode node) : node_(std::move(node)) {}
  absl::string_view type() const override { return "Test"; }
  std::string base_name() const override { return "test"; }
  ParamList params() const override { return {}; }
  Role role() const override { return node_.role; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo>) const override {
    std::vector<TensorType> types;
    for (int64_t bytes : node_.output_bytes) types.push_back({DType::kByte, Shape{bytes}});
    return types;
  }
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor>) const override {
    if (node_.role != Role::kConstant) {
      return absl::UnimplementedError("a test operator has no value");
    }
    return std::vector<HostTensor>{
        HostTensor::ShapeOnly(DType::kByte, Shape{node_.output_bytes[0]})};
  }
  Aliasing aliasing(const Site&) const override { return node_.aliasing; }

 private:
  const TestNode node_;
};

// A graph and all other arguments of a scheduler.
struct TestCase {
  Graph graph;
  StorageModel model;
  std::vector<int64_t> workspace;
};

class TestGraph {
 public:
  // Each of these returns output 0.
  int Input(int64_t bytes) { return Add({.role = Role::kInput, .output_bytes = {bytes}}, {}); }
  int Constant(int64_t bytes) {
    return Add({.role = Role::kConstant, .output_bytes = {bytes}}, {});
  }
  int Compute(int64_t bytes, std::vector<int> inputs, int64_t workspace = 0) {
    return Add({.output_bytes = {bytes}, .workspace = workspace}, std::move(inputs));
  }
  // The output has the size of input `over`, which it may overwrite.
  int InPlace(std::vector<int> inputs, int over = 0) {
    const int64_t bytes = Bytes(inputs[over]);
    return Add(
        {.output_bytes = {bytes}, .aliasing = {.overwrites = {{.output = 0, .input = over}}}},
        std::move(inputs));
  }
  // Adds a concatenation in which the inputs may be placed.
  int Concat(std::vector<int> inputs) {
    TestNode node;
    int64_t bytes = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      node.aliasing.placements.push_back(
          {.output = 0, .input = static_cast<int>(i), .offset = bytes});
      bytes += Bytes(inputs[i]);
    }
    node.aliasing.moves = {{.output = 0, .input = 0}};
    node.output_bytes = {bytes};
    return Add(std::move(node), std::move(inputs));
  }
  int ViewOf(int input, int64_t offset, int64_t bytes) {
    return Add({.output_bytes = {bytes},
                .aliasing = {.views = {{.output = 0, .input = 0, .offset = offset}}}},
               {input});
  }
  void Output(int var) { Add({.role = Role::kOutput, .output_bytes = {0}}, {var}); }

  int Add(TestNode node, std::vector<int> inputs, GraphBuilder::NodeOptions options = {}) {
    workspace_.push_back(node.workspace);
    options.binding = std::to_string(workspace_.size());
    auto outputs = builder_.Add(std::make_shared<TestOperator>(std::move(node)), std::move(inputs),
                                std::move(options));
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs->front();
  }
  // From now on the device moves the first input of each concatenation (Aliasing::Move).
  void AllowMoves() { moves_ = true; }
  int64_t Bytes(int var) const { return builder_.graph().var(var).type.bytes(); }
  // Returns the number of nodes so far; the next one has this index.
  int NumNodes() const { return static_cast<int>(workspace_.size()); }
  const Graph& graph() const { return builder_.graph(); }

  TestCase Build() && {
    auto graph = std::move(builder_).Build();
    EXPECT_TRUE(graph.ok()) << graph.status();
    StorageModel model = BuildStorageModel(*graph, {.moves = moves_});
    return {*std::move(graph), std::move(model), std::move(workspace_)};
  }

 private:
  GraphBuilder builder_;
  std::vector<int64_t> workspace_;
  bool moves_ = false;
};

// Returns a random graph of `num_compute` operators with all kinds of sharing; every var without a
// reader is an output.
inline TestCase RandomCase(uint32_t seed, int num_compute) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  TestGraph graph;
  if (seed % 2 == 1) graph.AllowMoves();
  std::vector<int> vars = {graph.Input(16 * (1 + below(8)))};
  if (below(2) == 0) vars.push_back(graph.Constant(64));
  const int window = 2 + below(6);  // small: deep graphs, large: wide ones
  for (int i = 0; i < num_compute; ++i) {
    std::vector<int> inputs;
    for (int k = 1 + below(3); k > 0; --k) {
      const int from = std::max(0, static_cast<int>(vars.size()) - window);
      inputs.push_back(vars[from + below(static_cast<int>(vars.size()) - from)]);
    }
    switch (below(6)) {
      case 0:
      case 1:
        vars.push_back(graph.InPlace(inputs, below(static_cast<int>(inputs.size()))));
        break;
      case 2:
        vars.push_back(graph.Concat(inputs));
        break;
      case 3: {
        const int64_t bytes = graph.Bytes(inputs[0]);
        const int64_t part = below(2) == 0 ? bytes : 1 + below(static_cast<int>(bytes));
        vars.push_back(graph.ViewOf(inputs[0], bytes - part, part));
        break;
      }
      case 4:
        vars.push_back(graph.Add(
            {.output_bytes = {16 * (1 + below(8)), 16 * (1 + below(3))}, .workspace = 8}, inputs));
        break;
      default:
        vars.push_back(graph.Compute(16 * (1 + below(8)), inputs, below(3) == 0 ? 24 : 0));
    }
  }
  const std::vector<int> made = vars;
  for (int var : made) {
    if (graph.graph().readers(var).empty()) graph.Output(var);
  }
  return std::move(graph).Build();
}

// Adds up to `count` edges between scheduled nodes, in addition to their inputs.
inline void AddRandomEdges(uint32_t seed, int count, TestCase& c) {
  std::mt19937 random(seed);
  const auto any = [&] { return static_cast<int>(random() % c.graph.nodes().size()); };
  for (int i = 0; i < count; ++i) {
    const int a = any(), b = any();
    if (a == b || !c.model.scheduled[a] || !c.model.scheduled[b]) continue;
    c.model.runs_before.push_back({std::min(a, b), std::max(a, b)});
  }
}

// Returns whether all nodes that a node waits for are done.
template <typename Set>
bool MayRun(const TestCase& c, const Set& done, int node) {
  const std::vector<int>& inputs = c.graph.node(node).inputs;
  const std::vector<RunsBefore>& edges = c.model.runs_before;
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](int var) { return done[c.graph.var(var).producer]; }) &&
         std::all_of(edges.begin(), edges.end(),
                     [&](const RunsBefore& edge) { return edge.then != node || done[edge.first]; });
}

// Returns the scheduled nodes in a random order that respects all inputs.
inline std::vector<int> RandomOrder(const TestCase& c, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int> order;
  std::vector<bool> done(c.graph.nodes().size(), false);
  while (true) {
    std::vector<int> ready;
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i] || !c.model.scheduled[i]) continue;
      if (MayRun(c, done, static_cast<int>(i))) ready.push_back(static_cast<int>(i));
    }
    if (ready.empty()) return order;
    order.push_back(ready[random() % ready.size()]);
    done[order.back()] = true;
  }
}

// Fails unless `order` has every scheduled node once, after all nodes for which it waits.
inline void ExpectValidOrder(const TestCase& c, const std::vector<int>& order) {
  std::vector<bool> done(c.graph.nodes().size(), false);
  for (int node : order) {
    EXPECT_FALSE(done[node]) << "node " << node << " twice";
    EXPECT_TRUE(MayRun(c, done, node)) << "node " << node << " too early";
    done[node] = true;
  }
  EXPECT_EQ(done, c.model.scheduled);
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_SCHEDULE_GRAPH_OF_BYTES_H_
