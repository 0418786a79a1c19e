#include "graph/join.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "opr/elemwise.h"
#include "opr/reduce.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Returns abs(x), under the name `out`; with `two`, also the maximum of its rows.
Graph First(bool two) {
  GraphMaker maker;
  const int x = maker.Input("x", {2, 3});
  const int abs = maker.Add<Elemwise>({ScalarFunction::kAbs}, {x}, "abs");
  maker.Output(abs);
  if (two) maker.Output(maker.Add<Reduce>({ReduceMode::kMax, 1}, {abs}, "rows"));
  return std::move(maker).Build();
}

// Returns -(input + input) of this shape; one node has a name that First uses too.
Graph Second(const std::string& input, const Shape& shape) {
  GraphMaker maker;
  const int x = maker.Input(input, shape);
  const int sum = maker.Add<Elemwise>({ScalarFunction::kAdd}, {x, x}, "abs");
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kNegate}, {sum}, "negative"));
  return std::move(maker).Build();
}

const std::vector<float> kNumbers = {1, -2, 3, -4, 5, -6};

TEST(Join, NamesTheSourceOfEachInput) {
  GraphMaker maker;
  const int abs = maker.Input("abs", {2, 3}), x = maker.Input("x", {2, 3});
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kAdd}, {x, abs}, "sum"));
  std::vector<JoinedInput> inputs;
  const Graph joined = Value(Join(First(true), std::move(maker).Build(), &inputs));
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].output, 0);  // of First
  EXPECT_EQ(inputs[1].output, std::nullopt);
  EXPECT_EQ(inputs[1].name, "x:2");
  EXPECT_EQ(joined.inputs()[1].name, "x:2");
}

TEST(Join, OneOutputFeedsTheOneInput) {
  const Graph joined = Value(Join(First(false), Second("y", {2, 3})));
  ASSERT_EQ(joined.inputs().size(), 1u);
  ASSERT_EQ(joined.outputs().size(), 1u);
  EXPECT_EQ(joined.inputs()[0].name, "x");
  EXPECT_EQ(joined.outputs()[0].name, "negative");
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {2, 3}, kNumbers);
  const std::vector<HostTensor> y = Value(EvaluateGraph(joined, {{"x", x}}));
  EXPECT_TRUE(Near(y[0], {-2, -4, -6, -8, -10, -12}, 0));
}

TEST(Join, NamesSayWhatIsRead) {
  const Graph joined = Value(Join(First(true), Second("rows", {2, 1})));
  ASSERT_EQ(joined.outputs().size(), 2u);
  EXPECT_EQ(joined.outputs()[0].name, "abs");
  EXPECT_EQ(joined.outputs()[1].name, "negative");
  std::vector<std::string> names;  // each name once
  for (const OperatorNode& node : joined.nodes()) names.push_back(node.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {2, 3}, kNumbers);
  EXPECT_TRUE(Near(Value(EvaluateGraph(joined, {{"x", x}}))[1], {-6, -12}, 0));
}

TEST(Join, WhatDoesNotFitIsRefused) {
  EXPECT_TRUE(FailsWith(Join(First(true), Second("y", {2, 3})).status(),
                        "no output ('abs', 'rows') is an input of the next model ('y')"));
  EXPECT_TRUE(FailsWith(Join(First(false), Second("y", {2, 4})).status(),
                        "output 'abs' is Float32{2,3}, and input 'y' of the next model is "
                        "Float32{2,4}"));
}

}  // namespace
}  // namespace ashlar::testing
