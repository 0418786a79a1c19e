#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/get_var_shape.h"
#include "opr/matrix_mul.h"
#include "opr/reshape.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "tests/graph/passes/pass_test.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

class FoldConstantsTest : public PassTest {
 protected:
  Graph FoldTo(int output) {
    make_.Output(output);
    const Graph before = std::move(make_).Build();
    Graph after = Value(FoldConstants(before, Operators()));
    ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 4, 1}), 0);
    EXPECT_EQ(after.outputs()[0].name, before.outputs()[0].name);
    return after;
  }

  int x_ = make_.Input("x", {2, 3, 4, 1});
};

TEST_F(FoldConstantsTest, ShapeSubgraphLeavesItsTarget) {
  const int shape = make_.Add<GetVarShape>({}, {x_});
  const int zero = make_.Constant(Int32Vector({0})), one = make_.Constant(Int32Vector({1}));
  const int batch = make_.Add<Subtensor>({{0}, {1}, {1}, {0}, {0}}, {shape, zero, one});
  const int target = make_.Add<Concat>({0}, {batch, make_.Constant(Int32Vector({-1}))}, "target");
  const int flat = make_.Add<Reshape>({1}, {x_, target});
  const Var target_var = make_.var(target);
  const Graph after = FoldTo(flat);
  EXPECT_THAT(ComputingTypes(after), ElementsAre("Reshape"));
  ASSERT_EQ(after.nodes().size(), 4u);  // input, target, Reshape, output
  const OperatorNode& reshape = after.node(after.var(after.outputs()[0].var).producer);
  const Var& constant = after.var(reshape.inputs[1]);
  EXPECT_TRUE(Near(*after.constant(reshape.inputs[1]), {2, -1}, 0));
  EXPECT_EQ(constant.id, target_var.id);
  EXPECT_EQ(constant.name, "target");
}

TEST_F(FoldConstantsTest, ArithmeticOnConstants) {
  const int a = make_.Constant(RandomTensor(random_, {3, 5}));
  const int b = make_.Constant(RandomTensor(random_, {5, 4}));
  const int product = make_.Add<MatrixMul>({}, {a, b});
  const int column = make_.Add<Dimshuffle>({{0, 1, -1}}, {product});
  const Graph after = FoldTo(make_.Add<Elemwise>({ScalarFunction::kMul}, {x_, column}));
  EXPECT_THAT(ComputingTypes(after), ElementsAre("Elemwise"));
  EXPECT_EQ(after.nodes().size(), 4u);
}

TEST_F(FoldConstantsTest, WholeGraphOfConstants) {
  const int a = make_.Constant(RandomTensor(random_, {3, 5}));
  const Graph after = FoldTo(make_.Add<Elemwise>({ScalarFunction::kExp}, {a}));
  EXPECT_THAT(ComputingTypes(after), ElementsAre());
  EXPECT_EQ(after.inputs().size(), 1u);
}

TEST_F(FoldConstantsTest, IdentitiesGo) {
  const int cast = make_.Add<TypeCvt>({DType::kFloat32}, {x_});
  const int same = make_.Add<Reshape>({}, {cast, make_.Constant(Int64Vector({2, 3, 4, 1}))});
  const int kept = make_.Add<Reshape>({}, {same, make_.Constant(Int64Vector({2, 12}))});
  const Graph after = FoldTo(kept);
  EXPECT_THAT(ComputingTypes(after), ElementsAre("Reshape"));
}

TEST_F(FoldConstantsTest, AnOutputMayBecomeTheInputItself) {
  const Graph after = FoldTo(make_.Add<TypeCvt>({DType::kFloat32}, {x_}, "cast"));
  EXPECT_THAT(ComputingTypes(after), ElementsAre());
  EXPECT_EQ(after.outputs()[0].name, "cast");
  EXPECT_EQ(after.outputs()[0].var, after.inputs()[0].var);
}

TEST_F(FoldConstantsTest, ValuesBeyondTheBoundAreComputedAtRunTime) {
  const int a = make_.Constant(RandomTensor(random_, {4096, 1}));
  const int b = make_.Constant(RandomTensor(random_, {4096}));
  make_.Output(make_.Add<Elemwise>({ScalarFunction::kAdd}, {a, b}));
  const Graph after = Value(FoldConstants(std::move(make_).Build(), Operators()));
  EXPECT_THAT(ComputingTypes(after), ElementsAre("Elemwise"));
}

}  // namespace
}  // namespace ashlar::testing
