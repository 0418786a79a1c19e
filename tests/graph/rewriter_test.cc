#include "graph/rewriter.h"

#include <gtest/gtest.h>

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
        EXPECT_EQ(pruned.var(node.outputs[i]).flags, graph.var(old.outputs[i]).flags);
      }
    }
    EXPECT_TRUE(found) << node.name;
  }
  EXPECT_EQ(pruned.next_id(), graph.next_id());
}

TEST(GraphRewriter, SubstitutesAcrossWorkspaces) {
  const Graph graph = WithDeadNodes();
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    if (node.name == "sum") {  // an operator without workspace in its place
      const auto op = std::make_shared<const Elemwise>(ElemwiseParam{ScalarFunction::kAbs});
      ASSERT_TRUE(IsOk(rewriter.Substitute(node, op, rewriter.MapAll(node.inputs))));
    } else if (node.name == "relu") {  // and one with a workspace
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
  ASSERT_EQ(reduce.outputs.size(), 2u);
  EXPECT_GE(result.var(reduce.outputs[1]).id, graph.next_id());  // the workspace is new
}

}  // namespace
}  // namespace ashlar::testing
