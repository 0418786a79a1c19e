#include "graph/graph_builder.h"

#include <gtest/gtest.h>

#include "graph/graph.h"
#include "opr/concat.h"
#include "opr/elemwise.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/immutable_tensor.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/subtensor.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

template <typename Op>
OperatorPtr Make(typename Op::Param param) {
  return std::make_shared<const Op>(std::move(param));
}
OperatorPtr Constant(HostTensor value) {
  return std::make_shared<const ImmutableTensor>(std::move(value));
}
OperatorPtr Input(std::vector<int64_t> shape) {
  return Make<Host2DeviceCopy>({DType::kFloat32, std::move(shape)});
}
OperatorPtr Add() { return Make<Elemwise>({ScalarFunction::kAdd}); }
OperatorPtr Output() { return Make<OutputCallback>({}); }

GraphBuilder::NodeOptions WithName(std::string name) {
  GraphBuilder::NodeOptions options;
  options.name = std::move(name);
  return options;
}

int AddNode(GraphBuilder& builder, OperatorPtr op, std::vector<int> inputs) {
  return Value(builder.Add(std::move(op), std::move(inputs)))[0];
}

TEST(GraphBuilder, NumbersVarsAndOperatorsFromOneCounter) {
  GraphBuilder builder(CompNode(), 10);
  const int x = Value(builder.Add(Input({2, 3}), {}, WithName("data")))[0];
  const int sum = AddNode(builder, Make<Reduce>({ReduceMode::kSum, 1}), {x});
  AddNode(builder, Output(), {sum});
  const Graph graph = Value(std::move(builder).Build());
  const OperatorNode& reduce = graph.node(1);
  EXPECT_EQ(graph.node(0).id, 10);
  EXPECT_EQ(graph.var(x).id, 11);
  EXPECT_EQ(reduce.id, 12);
  EXPECT_EQ(graph.var(reduce.outputs[0]).id, 13);
  EXPECT_EQ(reduce.name, "reduce0(data)[12]");
  EXPECT_EQ(reduce.outputs.size(), 1u);
  EXPECT_EQ(graph.next_id(), 16);
  EXPECT_EQ(graph.inputs()[0].name, "data");
  EXPECT_EQ(graph.outputs()[0].var, sum);
  EXPECT_EQ(graph.readers(x), (std::vector<int>{1}));
}

// The target of a flattening Reshape, as frameworks write it: Reshape(x, Concat(shape_of(x)[0],
// -1)).
TEST(GraphBuilder, ResolvesTheShapeSubgraph) {
  GraphBuilder builder(CompNode(), 100);
  const int x = Value(builder.Add(Input({10, 2048, 1, 1}), {}, WithName("x")))[0];
  const int zero = AddNode(builder, Constant(Int32Vector({0})), {});
  const int minus_one = AddNode(builder, Constant(Int32Vector({-1})), {});
  const int shape = AddNode(builder, Make<GetVarShape>({}), {x});
  const SubtensorParam first = {{0}, {0}, {0}, {0}, {1}};
  const int batch = AddNode(builder, Make<Subtensor>(first), {shape, zero});
  const int batch_vector = AddNode(builder, Make<Reshape>({}),
                                   {batch, AddNode(builder, Constant(Int32Vector({1})), {})});
  const int target = AddNode(builder, Make<Concat>({0}), {batch_vector, minus_one});
  const int flat = AddNode(builder, Make<Reshape>({1}), {x, target});
  EXPECT_EQ(builder.graph().var(flat).type.shape, (Shape{10, 2048}));
  EXPECT_TRUE(Near(*builder.StaticValue(shape), {10, 2048, 1, 1}, 0));
  EXPECT_TRUE(Near(*builder.StaticValue(target), {10, -1}, 0));
  EXPECT_EQ(builder.StaticValue(x), nullptr);
  EXPECT_EQ(builder.StaticValue(flat), nullptr);
  // Named as in MegEngine's dump: without the inputs that are host values.
  EXPECT_EQ(builder.graph().var(shape).name, "shape_of(x)[106]");
  EXPECT_EQ(builder.graph().var(batch).name, "subtensor(shape_of[106])[108]");
  EXPECT_EQ(builder.graph().var(flat).name, "reshape(x)[116]");

  AddNode(builder, Output(), {flat});
  const Graph graph = Value(std::move(builder).Build());
  EXPECT_TRUE(Near(*graph.host_value(target), {10, -1}, 0));
  const std::vector<InputInfo> infos = graph.InputInfos(graph.node(graph.var(flat).producer));
  EXPECT_EQ(infos[0].value, nullptr);
  EXPECT_TRUE(Near(*infos[1].value, {10, -1}, 0));
}

TEST(GraphBuilder, ErrorsNameTheNode) {
  GraphBuilder builder;
  const int x = AddNode(builder, Input({2, 3}), {});
  const int y = AddNode(builder, Input({2, 4}), {});
  EXPECT_TRUE(FailsWith(builder.Add(Add(), {x, y}, WithName("sum")).status(),
                        "sum (Elemwise, 4): shapes {2,3} and {2,4} do not broadcast"));
  EXPECT_TRUE(FailsWith(builder.Add(Add(), {x, -1}).status(),
                        "Elemwise 4: input 1 is no var made before it"));
  EXPECT_TRUE(FailsWith(builder.Add(Add(), {x, 99}).status(), "input 1 is no var"));
  EXPECT_TRUE(FailsWith(builder.Add(Add(), {x}).status(), "1 inputs, expected 2"));
  EXPECT_TRUE(FailsWith(builder.Add(Input({-1}), {}).status(), "negative dimension"));
  EXPECT_TRUE(FailsWith(builder.Add(Make<Reshape>({}), {x, y}).status(), "the target shape"));
  GraphBuilder::NodeOptions options;
  options.output_ids = {7, 8};
  EXPECT_TRUE(FailsWith(builder.Add(Add(), {x, x}, options).status(), "2 output ids, expected 1"));
  options = {};
  options.output_formats = {Format::kNCHW16c};
  EXPECT_TRUE(FailsWith(builder.Add(Add(), {x, x}, options).status(), "expected rank 4"));
  const std::string long_name(1 << 20, 'n');
  EXPECT_LT(builder.Add(Add(), {x}, WithName(long_name)).status().message().size(), 1000u);
}

TEST(GraphBuilder, ChecksTheWhole) {
  {
    GraphBuilder builder;
    AddNode(builder, Input({1}), {});
    EXPECT_TRUE(FailsWith(std::move(builder).Build().status(), "no output"));
  }
  EXPECT_TRUE(FailsWith(GraphBuilder().Build().status(), "no output"));
  for (const bool of_var : {false, true}) {
    GraphBuilder builder;
    const int x = Value(builder.Add(Input({1}), {}, WithName("x")))[0];
    AddNode(builder, Output(), {x});
    GraphBuilder::NodeOptions options = WithName("again");
    if (of_var) {
      options.output_ids = {1};
    } else {
      options.id = 0;
    }
    Value(builder.Add(Add(), {x, x}, options));
    EXPECT_TRUE(FailsWith(std::move(builder).Build().status(), "used twice"));
  }
  {
    GraphBuilder builder;
    const int x = Value(builder.Add(Input({1}), {}, WithName("x")))[0];
    Value(builder.Add(Input({1}), {}, WithName("x")));
    AddNode(builder, Output(), {x});
    EXPECT_TRUE(FailsWith(std::move(builder).Build().status(), "two inputs are named 'x'"));
  }
  {
    GraphBuilder builder;
    const int x = Value(builder.Add(Input({1}), {}, WithName("x")))[0];
    AddNode(builder, Output(), {x});
    AddNode(builder, Output(), {x});
    EXPECT_TRUE(FailsWith(std::move(builder).Build().status(), "two outputs are named 'x'"));
  }
}

// A model of a few hundred bytes may ask for gigabytes: such values stay unknown.
TEST(GraphBuilder, StaticValuesAreBounded) {
  GraphBuilder builder;
  const OperatorPtr column = Constant(HostTensor::Zeros(DType::kFloat32, {1 << 14, 1}));
  const OperatorPtr row = Constant(HostTensor::Zeros(DType::kFloat32, {1 << 14}));
  const int large =
      AddNode(builder, Add(), {AddNode(builder, column, {}), AddNode(builder, row, {})});
  EXPECT_EQ(builder.StaticValue(large), nullptr);

  // Doubling a tensor step by step stops at the same limit.
  int var = AddNode(builder, Constant(HostTensor::Zeros(DType::kFloat32, {1 << 10})), {});
  int known = 0;
  for (int i = 0; i < 25; ++i) {
    var = AddNode(builder, Make<Concat>({0}), {var, var});
    if (builder.StaticValue(var) != nullptr) ++known;
  }
  EXPECT_GT(known, 5);
  EXPECT_LT(known, 14);  // 16 MiB in all
}

TEST(GraphBuilder, StaticValuesGrowWithTheConstants) {
  GraphBuilder builder;
  const HostTensor weights = HostTensor::Zeros(DType::kFloat32, {8 << 20});
  const int half =
      AddNode(builder, Constant(HostTensor::FromValues<float>(DType::kFloat32, {}, {0.5f})), {});
  int var = AddNode(builder, Constant(weights), {});
  for (int i = 0; i < 4; ++i) {
    var = AddNode(builder, Make<Elemwise>({ScalarFunction::kMul}), {var, half});
    EXPECT_NE(builder.StaticValue(var), nullptr) << i;
  }
  // Constants that share their bytes count once.
  int known = 0;
  for (int i = 0; i < 10; ++i) {
    const int same = AddNode(builder, Constant(weights), {});
    const int scaled = AddNode(builder, Make<Elemwise>({ScalarFunction::kMul}), {same, half});
    if (builder.StaticValue(scaled) != nullptr) ++known;
  }
  EXPECT_LT(known, 10);
}

TEST(GraphBuilder, LongChainsOfConstants) {
  GraphBuilder builder;
  int var = AddNode(builder, Constant(Int32Vector({1})), {});
  const int one = AddNode(builder, Constant(Int32Vector({1})), {});
  for (int i = 0; i < 100000; ++i) var = AddNode(builder, Add(), {var, one});
  ASSERT_NE(builder.StaticValue(var), nullptr);
  EXPECT_EQ(builder.StaticValue(var)->At(0), 100001);
}

}  // namespace
}  // namespace ashlar::testing
