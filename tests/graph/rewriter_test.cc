#include "graph/rewriter.h"

#include <gtest/gtest.h>

#include "graph/graph_builder.h"
#include "opr/elemwise.h"
#include "opr/reduce.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {
namespace {

Graph WithDeadNodes() {
  GraphMaker maker;
  const int x = maker.Input("x", {2, 3});
  maker.Input("unused", {4});
  const int relu = maker.Add<Elemwise>({ScalarFunction::kRelu}, {x}, "relu");
  const int dead = maker.Add<Elemwise>({ScalarFunction::kExp}, {relu}, "dead");
  maker.Add<Elemwise>({ScalarFunction::kExp}, {dead}, "dead too");
  maker.Output(maker.Add<Reduce>({ReduceMode::kSum, 0}, {relu}, "sum"));
  return std::move(maker).Build();
}

TEST(Prune, DropsWhatNoOutputNeeds) {
  const Graph graph = WithDeadNodes();
  const Graph pruned = Value(Prune(graph));
  ASSERT_EQ(pruned.nodes().size(), 5u);
  EXPECT_EQ(ComputingTypes(pruned), (std::vector<std::string>{"Elemwise", "Reduce"}));
  ASSERT_EQ(pruned.inputs().size(), 2u);  // inputs stay: callers bind them
  EXPECT_EQ(pruned.inputs()[1].name, "unused");
  EXPECT_EQ(pruned.outputs()[0].name, graph.outputs()[0].name);
  for (const OperatorNode& node : pruned.nodes()) {  // ids and names are stable
    bool found = false;
    for (const OperatorNode& old : graph.nodes()) {
      if (old.id != node.id) continue;
      found = true;
      EXPECT_EQ(old.name, node.name);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        EXPECT_EQ(pruned.var(node.outputs[i]).id, graph.var(old.outputs[i]).id);
        EXPECT_EQ(pruned.var(node.outputs[i]).name, graph.var(old.outputs[i]).name);
      }
    }
    EXPECT_TRUE(found) << node.name;
  }
  EXPECT_EQ(pruned.next_id(), graph.next_id());
}

TEST(GraphRewriter, Substitutes) {
  const Graph graph = WithDeadNodes();
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    if (node.name == "sum") {
      const auto op = std::make_shared<const Elemwise>(ElemwiseParam{ScalarFunction::kAbs});
      ASSERT_TRUE(IsOk(rewriter.Substitute(node, op, rewriter.MapAll(node.inputs))));
    } else if (node.name == "relu") {
      const auto op = std::make_shared<const Reduce>(ReduceParam{ReduceMode::kMax, 1});
      ASSERT_TRUE(IsOk(rewriter.Substitute(node, op, rewriter.MapAll(node.inputs))));
    } else {
      ASSERT_TRUE(IsOk(rewriter.Copy(node)));
    }
  }
  const Graph result = Value(std::move(rewriter).Finish());
  EXPECT_EQ(ComputingTypes(result), (std::vector<std::string>{"Reduce", "Elemwise"}));
  const Var& output = result.var(result.outputs()[0].var);
  EXPECT_EQ(output.id, graph.var(graph.outputs()[0].var).id);
  EXPECT_EQ(output.type.shape, (Shape{2, 1}));
  const OperatorNode& reduce = result.node(2);
  EXPECT_EQ(reduce.name, "relu");
  EXPECT_EQ(reduce.outputs.size(), 1u);
}

// A workspace's name and id move with its node; its size belongs to the old operator.
TEST(GraphRewriter, KeepsRecordedWorkspaces) {
  GraphBuilder builder;
  const int x = Value(builder.Add(
      Value(Operators().Make("Host2DeviceCopy", {{"dtype", std::string("Float32")},
                                                 {"shape", std::vector<int64_t>{2, 3}}})),
      {}))[0];
  GraphBuilder::NodeOptions options;
  options.recorded_workspace = RecordedWorkspace{.id = -1, .bytes = 40};
  const auto sum = std::make_shared<const Reduce>(ReduceParam{ReduceMode::kSum, 1});
  const int y = Value(builder.Add(sum, {x}, options))[0];
  const OperatorPtr output = Value(Operators().Make("OutputCallback", {}));
  Value(builder.Add(output, {y}));
  const Graph graph = Value(std::move(builder).Build());
  ASSERT_TRUE(graph.node(1).recorded_workspace.has_value());
  EXPECT_EQ(graph.node(1).recorded_workspace->id, 4);  // 0, 1: x; 2, 3: the sum
  EXPECT_EQ(graph.node(2).id, 5);
  EXPECT_EQ(graph.node(1).workspace_id(), 4);
  EXPECT_EQ(graph.node(2).workspace_id(), 5);

  GraphRewriter copied(graph), substituted(graph);
  for (const OperatorNode& node : graph.nodes()) {
    ASSERT_TRUE(IsOk(copied.Copy(node)));
    if (node.op != sum) {
      ASSERT_TRUE(IsOk(substituted.Copy(node)));
    } else {
      ASSERT_TRUE(IsOk(substituted.Substitute(node, sum, substituted.MapAll(node.inputs))));
    }
  }
  const Graph copy = Value(std::move(copied).Finish());
  ASSERT_TRUE(copy.node(1).recorded_workspace.has_value());
  EXPECT_EQ(copy.node(1).recorded_workspace->id, 4);
  EXPECT_EQ(copy.node(1).recorded_workspace->bytes, 40);
  EXPECT_FALSE(Value(std::move(substituted).Finish()).node(1).recorded_workspace.has_value());

  GraphBuilder twice;
  options.recorded_workspace->id = 0;
  options.id = 7;
  const int input = Value(twice.Add(graph.node(0).op, {}))[0];
  Value(twice.Add(output, {Value(twice.Add(sum, {input}, options))[0]}));
  EXPECT_TRUE(FailsWith(std::move(twice).Build().status(), "the id 0 of its workspace"));
}

}  // namespace
}  // namespace ashlar::testing
