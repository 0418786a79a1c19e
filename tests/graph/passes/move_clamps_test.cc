#include "opr/conv_bias.h"
#include "tests/graph/passes/image_pass_test.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kChannels = 4;

ConvBiasParam Padded(ScalarFunction activation = ScalarFunction::kIdentity,
                     ScalarParameters parameters = {}) {
  ConvBiasParam param;
  param.pad_h = param.pad_w = 1;
  param.nonlineMode = activation;
  param.parameters = parameters;
  return param;
}

// An expansion, followed by a depthwise convolution.
class MoveClampsTest : public ImagePassTest {
 protected:
  int Expansion(ConvBiasParam param, const std::string& name = "expansion") {
    return make_.Add<ConvBiasForward>(
        std::move(param), {x_, Random({kChannels, 3, 3, 3}), Random({1, kChannels, 1, 1})}, name);
  }
  int Depthwise(int x, int filter, const std::string& name = "depthwise") {
    ConvBiasParam param = Padded(ScalarFunction::kClamp, {-0.125, 0.25});
    param.sparse = SparseMode::kGroup;
    return make_.Add<ConvBiasForward>(param, {x, filter, Random({1, kChannels, 1, 1})}, name);
  }
  int DepthwiseFilter() { return Random({kChannels, 1, 1, 3, 3}); }

  static const OperatorNode& Node(const Graph& graph, const std::string& name) {
    for (const OperatorNode& node : graph.nodes()) {
      if (node.name == name) return node;
    }
    ADD_FAILURE() << "no node " << name;
    return graph.node(0);
  }
  static ConvBiasParam ParamOf(const Graph& graph, const std::string& name) {
    return dynamic_cast<const ConvBiasForward&>(*Node(graph, name).op).param();
  }
  // Returns whether the depthwise convolution's source got the bounds; the graph must compute the
  // same.
  bool Moves(int output) {
    const Graph after = Rewritten(MoveClamps, output);
    const bool moved = ParamOf(after, "depthwise").clamps_src();
    EXPECT_EQ(ParamOf(after, "expansion").nonlineMode == ScalarFunction::kIdentity, moved);
    make_ = GraphMaker();
    x_ = make_.Input("x", {2, 3, 5, 6});
    return moved;
  }
};

// The zeros of the padding are not clamped: bounds of -0.5 to -0.25 must not apply to them.
TEST_F(MoveClampsTest, BoundsGoIntoADepthwiseConvolution) {
  const int y = Expansion(Padded(ScalarFunction::kClamp, {-0.5, -0.25}));
  const int clamped = make_.var(y).id;
  const int z = Depthwise(y, DepthwiseFilter());
  const Var made = make_.var(z);
  const Graph after = Rewritten(MoveClamps, z);
  EXPECT_EQ(ParamOf(after, "expansion").nonlineMode, ScalarFunction::kIdentity);
  EXPECT_EQ(ParamOf(after, "depthwise").src_low, -0.5);
  EXPECT_EQ(ParamOf(after, "depthwise").src_high, -0.25);
  EXPECT_EQ(ParamOf(after, "depthwise").nonlineMode, ScalarFunction::kClamp) << "its own stays";
  // The old var's value exists no more; the depthwise convolution's does.
  for (const Var& var : after.vars()) EXPECT_NE(var.id, clamped);
  const Var& output = after.var(Node(after, "depthwise").outputs[0]);
  EXPECT_EQ(output.id, made.id);
  EXPECT_EQ(output.name, made.name);
}

TEST_F(MoveClampsTest, OnlyWhereTheDepthwiseConvolutionAloneReadsIt) {
  const ConvBiasParam relu6 = Padded(ScalarFunction::kClamp, {0, 6});
  EXPECT_TRUE(Moves(Depthwise(Expansion(relu6), DepthwiseFilter())));
  const int y = Expansion(relu6);
  EXPECT_FALSE(Moves(Elem(ScalarFunction::kAdd, {Depthwise(y, DepthwiseFilter()), y})));
  const int output = Expansion(relu6);
  make_.Output(output);
  EXPECT_FALSE(Moves(Depthwise(output, DepthwiseFilter())));
}

// A ReLU is part of the library's engines; a curve would be computed again for every tap.
TEST_F(MoveClampsTest, OtherActivationsStay) {
  for (const ScalarFunction function :
       {ScalarFunction::kRelu, ScalarFunction::kSigmoid, ScalarFunction::kHSwish}) {
    EXPECT_FALSE(Moves(Depthwise(Expansion(Padded(function)), DepthwiseFilter())))
        << RowOf(function).name;
  }
}

// The depthwise kernels take neither unknown nor dense filters.
TEST_F(MoveClampsTest, OtherReadersTakeNone) {
  const ConvBiasParam relu6 = Padded(ScalarFunction::kClamp, {0, 6});
  const int filter = Elem(ScalarFunction::kAdd, {DepthwiseFilter(), Random({1})});
  EXPECT_FALSE(Moves(Depthwise(Expansion(relu6), filter)));
  const int dense = make_.Add<ConvBiasForward>(
      Padded(), {Expansion(relu6), Random({2, kChannels, 3, 3}), Random({1, 2, 1, 1})},
      "depthwise");
  EXPECT_FALSE(Moves(dense));
}

// Two in a row: the second reads a value that the first's kernel clamps at no cost.
TEST_F(MoveClampsTest, ADepthwiseConvolutionKeepsItsOwn) {
  const int first = Depthwise(Expansion(Padded()), DepthwiseFilter(), "first");
  const Graph after = Rewritten(MoveClamps, Depthwise(first, DepthwiseFilter()));
  EXPECT_EQ(ParamOf(after, "first").nonlineMode, ScalarFunction::kClamp);
  EXPECT_FALSE(ParamOf(after, "depthwise").clamps_src());
}

}  // namespace
}  // namespace ashlar::testing
