// Compares two graphs in every field.
#ifndef ASHLAR_TESTS_SERIALIZATION_GRAPH_EQUALITY_H_
#define ASHLAR_TESTS_SERIALIZATION_GRAPH_EQUALITY_H_

#include <cstring>

#include "gmock/gmock.h"
#include "graph/graph.h"

namespace ashlar::testing {

inline void ExpectSameConstant(const HostTensor* a, const HostTensor* b) {
  ASSERT_EQ(a == nullptr, b == nullptr);
  if (a == nullptr) return;
  ASSERT_EQ(a->bytes(), b->bytes());
  EXPECT_TRUE(a->bytes() == 0 || std::memcmp(a->raw(), b->raw(), a->bytes()) == 0);
}

inline void ExpectSameGraph(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.vars().size(), b.vars().size());
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < a.vars().size(); ++i) {
    const Var &x = a.var(i), &y = b.var(i);
    SCOPED_TRACE(x.name);
    EXPECT_EQ(std::tie(x.id, x.name, x.type, x.producer, x.output_index),
              std::tie(y.id, y.name, y.type, y.producer, y.output_index));
    EXPECT_EQ(x.comp_node, y.comp_node);
    EXPECT_EQ(a.readers(i), b.readers(i));
  }
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const OperatorNode &x = a.node(i), &y = b.node(i);
    SCOPED_TRACE(x.name);
    EXPECT_EQ(std::tie(x.id, x.name, x.inputs, x.outputs, x.priority, x.binding),
              std::tie(y.id, y.name, y.inputs, y.outputs, y.priority, y.binding));
    EXPECT_EQ(x.op->type(), y.op->type());
    EXPECT_EQ(x.op->params(), y.op->params());
    ExpectSameConstant(x.constant.get(), y.constant.get());
    ASSERT_EQ(x.recorded_workspace.has_value(), y.recorded_workspace.has_value());
    if (x.recorded_workspace) {
      EXPECT_EQ(x.recorded_workspace->id, y.recorded_workspace->id);
      EXPECT_EQ(x.recorded_workspace->bytes, y.recorded_workspace->bytes);
    }
  }
  for (const auto& [x, y] :
       {std::tie(a.inputs(), b.inputs()), std::tie(a.outputs(), b.outputs())}) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(std::tie(x[i].name, x[i].var, x[i].node), std::tie(y[i].name, y[i].var, y[i].node));
    }
  }
  EXPECT_EQ(a.next_id(), b.next_id());
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_GRAPH_EQUALITY_H_
