#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes/pass.h"
#include "opr/elemwise_chain.h"
#include "opr/matrix_mul_bias.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kSeed = 41;

class ChainTest : public ::testing::Test {
 protected:
  int Elem(ElemwiseParam param, std::vector<int> inputs) {
    return make_.Add<Elemwise>(param, std::move(inputs));
  }
  int Random(const Shape& shape) {
    return make_.Constant(RandomTensor(random_, DType::kFloat32, shape, 0.5, 2));
  }
  // Returns the graph after the pass, which must compute the same.
  Graph Chained() {
    const Graph before = std::move(make_).Build();
    Graph after = Value(Chain(before, Operators()));
    const HostTensor x = RandomTensor(random_, DType::kFloat32, {2, 4, 3, 5}, -3, 3);
    const std::vector<HostTensor> expected = Value(EvaluateGraph(before, {{"x", x}}));
    const std::vector<HostTensor> actual = Value(EvaluateGraph(after, {{"x", x}}));
    EXPECT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(Near(actual[i], expected[i], 1e-5)) << "seed " << kSeed;
    }
    return after;
  }

  std::mt19937_64 random_{kSeed};
  GraphMaker make_;
  int x_ = make_.Input("x", {2, 4, 3, 5});
};

TEST_F(ChainTest, ScalarFunctionsBecomeOneOperator) {
  int y = Elem({ScalarFunction::kMul}, {x_, Random({1, 4, 1, 1})});
  y = Elem({ScalarFunction::kAdd}, {Random({1, 4, 1, 1}), y});
  y = Elem({ScalarFunction::kClamp, {-0.5, 2}}, {y});
  y = Elem({ScalarFunction::kSub}, {x_, y});
  y = Elem({ScalarFunction::kTanh}, {y});
  make_.Output(y);
  EXPECT_THAT(ComputingTypes(Chained()), ElementsAre("ElemwiseChain"));
}

TEST_F(ChainTest, ThreeArgumentsInAnyPlace) {
  const int a = Elem({ScalarFunction::kExp}, {Elem({ScalarFunction::kNegate}, {x_})});
  make_.Output(Elem({ScalarFunction::kFuseMulAdd3}, {Random({4, 1, 1}), Random({1}), a}));
  EXPECT_THAT(ComputingTypes(Chained()), ElementsAre("ElemwiseChain"));
}

TEST_F(ChainTest, WhatOthersReadStays) {
  const int a = Elem({ScalarFunction::kSigmoid}, {x_});
  make_.Output(Elem({ScalarFunction::kRelu}, {a}));
  make_.Output(Elem({ScalarFunction::kTanh}, {a}));
  make_.Output(Elem({ScalarFunction::kMul}, {a, a}));
  EXPECT_THAT(ComputingTypes(Chained()),
              ElementsAre("Elemwise", "Elemwise", "Elemwise", "Elemwise"));
}

TEST_F(ChainTest, WhatIsBroadcastIsNotComputedAgain) {
  const int small =
      Elem({ScalarFunction::kSqrt}, {Elem({ScalarFunction::kAbs}, {Random({1, 4, 1, 1})})});
  make_.Output(Elem({ScalarFunction::kAdd}, {small, x_}));
  EXPECT_THAT(ComputingTypes(Chained()), ElementsAre("ElemwiseChain", "Elemwise"));
}

TEST_F(ChainTest, TwoBranchesOneOfWhichTheChainBegins) {
  const int a = Elem({ScalarFunction::kTanh}, {x_}), b = Elem({ScalarFunction::kSigmoid}, {x_});
  make_.Output(Elem({ScalarFunction::kMul}, {a, b}));
  EXPECT_THAT(ComputingTypes(Chained()), ElementsAre("Elemwise", "ElemwiseChain"));
}

TEST_F(ChainTest, LongChainsAreCut) {
  int y = x_;
  for (int i = 0; i < 9; ++i) y = Elem({ScalarFunction::kMax}, {y, Random({1})});
  for (int i = 0; i < 20; ++i) y = Elem({ScalarFunction::kAbs}, {y});
  make_.Output(y);
  const Graph after = Chained();
  size_t steps = 0;
  for (const OperatorNode& node : after.nodes()) {
    const auto* chain = dynamic_cast<const ElemwiseChain*>(node.op.get());
    if (chain == nullptr) continue;
    EXPECT_LE(node.inputs.size(), ElemwiseChain::kMaxInputs);
    EXPECT_LE(chain->param().steps(), ElemwiseChain::kMaxSteps);
    steps += chain->param().steps();
  }
  EXPECT_EQ(steps, 29u);
}

TEST_F(ChainTest, ProductsTakeABiasAndAReluIn) {
  const int rows = make_.Add<MatrixMul>({.transposeB = true}, {x_, Random({6, 5})}, "fc");
  const int sum = Elem({ScalarFunction::kAdd}, {rows, Random({6})});
  make_.Output(Elem({ScalarFunction::kRelu}, {sum}));
  make_.Output(Elem({ScalarFunction::kFuseAddRelu},
                    {Random({1, 1, 1, 7}), make_.Add<MatrixMul>({}, {x_, Random({5, 7})})}));
  const Graph after = Chained();
  EXPECT_THAT(ComputingTypes(after), ElementsAre("MatrixMulBias", "MatrixMulBias"));
}

TEST_F(ChainTest, OtherTailsOfProductsStayOutside) {
  const auto product = [&] { return make_.Add<MatrixMul>({}, {x_, Random({5, 4})}); };
  make_.Output(Elem({ScalarFunction::kAdd}, {product(), Random({3, 1})}));
  make_.Output(Elem({ScalarFunction::kTanh}, {product()}));
  make_.Output(Elem({ScalarFunction::kMul}, {product(), Random({4})}));
  EXPECT_THAT(ComputingTypes(Chained()), ElementsAre("MatrixMul", "Elemwise", "MatrixMul",
                                                     "Elemwise", "MatrixMul", "Elemwise"));
}

}  // namespace
}  // namespace ashlar::testing
