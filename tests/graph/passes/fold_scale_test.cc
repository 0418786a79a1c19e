#include "opr/batch_norm.h"
#include "opr/conv_bias.h"
#include "tests/graph/passes/image_pass_test.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

constexpr ElemwiseParam kAdd{ScalarFunction::kAdd}, kMul{ScalarFunction::kMul};

class FoldScaleTest : public ImagePassTest {
 protected:
  int Norm(int x, int64_t channels) {
    const Shape c{channels};
    return make_.Add<BatchNorm>({1e-3}, {x, Random(c), Random(c), Random(c), Random(c, 0.1, 2)},
                                "norm");
  }
  Graph Fold(int output) { return Rewritten(FoldScale, output); }
};

TEST_F(FoldScaleTest, FoldsBatchNormAndKeepsIdentities) {
  const int conv = Conv(x_, 3, 4, "conv");
  const int norm = Norm(conv, 4);
  const Var conv_var = make_.var(conv), norm_var = make_.var(norm);
  const Graph after = Fold(norm);
  EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward"));
  const Var& folded = after.var(after.outputs()[0].var);
  EXPECT_EQ(folded.id, norm_var.id);
  EXPECT_EQ(folded.name, norm_var.name);
  EXPECT_EQ(after.node(folded.producer).name, conv_var.name);
  EXPECT_EQ(after.outputs()[0].name, "norm");
}

TEST_F(FoldScaleTest, FoldsARunOfAffineOperators) {
  int y = Norm(Conv(x_, 3, 4, "conv"), 4);
  y = make_.Add<Elemwise>(kMul, {y, Random({1, 4, 1, 1})});
  y = make_.Add<Elemwise>({ScalarFunction::kNegate}, {y});
  y = make_.Add<Elemwise>(kAdd, {Random({4, 1, 1}), y});
  y = make_.Add<Elemwise>({ScalarFunction::kSub}, {Random({1}), y});
  const Graph after = Fold(y);
  EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward"));
  EXPECT_EQ(after.vars().size(),
            1u + 2 + 1 + 1);  // x, filter and bias, output, marker
}

TEST_F(FoldScaleTest, FoldsIntoGroupsAndIntoABias) {
  const int conv = make_.Add<ConvBiasForward>(ConvBiasParam{{.sparse = SparseMode::kGroup}},
                                              {x_, Random({3, 2, 1, 2, 2}), Random({1, 6, 1, 1})});
  EXPECT_THAT(ComputingTypes(Fold(Norm(conv, 6))), ElementsAre("ConvBiasForward"));
}

TEST_F(FoldScaleTest, AShiftAloneKeepsTheFilter) {
  const int filter = Random({4, 3, 1, 1});
  const int conv = make_.Add<ConvolutionForward>({}, {x_, filter});
  const int id = make_.var(filter).id;
  const Graph after = Fold(make_.Add<Elemwise>(kAdd, {conv, Random({1, 4, 1, 1})}));
  EXPECT_THAT(ComputingTypes(after), ElementsAre("ConvBiasForward"));
  const OperatorNode& node = after.node(after.var(after.outputs()[0].var).producer);
  EXPECT_EQ(after.var(node.inputs[ConvBiasForward::kFilter]).id, id);
}

TEST_F(FoldScaleTest, LeavesAConvolutionThatIsReadElsewhere) {
  const int conv = Conv(x_, 3, 4, "conv");
  const int norm = Norm(conv, 4);
  EXPECT_THAT(ComputingTypes(Fold(make_.Add<Elemwise>(kMul, {norm, conv}))),
              ElementsAre("ConvolutionForward", "BatchNorm", "Elemwise"));
}

TEST_F(FoldScaleTest, LeavesAConvolutionThatIsAnOutput) {
  const int conv = Conv(x_, 3, 4, "conv");
  make_.Output(conv);
  EXPECT_THAT(ComputingTypes(Fold(Norm(conv, 4))), ElementsAre("ConvolutionForward", "BatchNorm"));
}

TEST_F(FoldScaleTest, LeavesWhatIsNotAffineByChannel) {
  const int conv = Conv(x_, 3, 4, "conv");
  const int squared = make_.Add<Elemwise>(kMul, {conv, conv});
  const int scaled = make_.Add<Elemwise>(kMul, {squared, Random({5, 6})});
  EXPECT_THAT(ComputingTypes(Fold(scaled)),
              ElementsAre("ConvolutionForward", "Elemwise", "Elemwise"));
}

TEST_F(FoldScaleTest, LeavesProductsThatAreToBeSummedAsTheyAre) {
  const int conv = make_.Add<ConvolutionForward>({.compute_mode = ComputeMode::kFloat32},
                                                 {x_, Random({4, 3, 3, 3})});
  EXPECT_THAT(ComputingTypes(Fold(Norm(conv, 4))), ElementsAre("ConvolutionForward", "BatchNorm"));
}

TEST_F(FoldScaleTest, LeavesAnActivatedConvolution) {
  const int conv = make_.Add<ConvBiasForward>(ConvBiasParam{{}, ScalarFunction::kRelu},
                                              {x_, Random({4, 3, 1, 1}), Random({1, 4, 1, 1})});
  EXPECT_THAT(ComputingTypes(Fold(Norm(conv, 4))), ElementsAre("ConvBiasForward", "BatchNorm"));
}

TEST_F(FoldScaleTest, LongRunsTakeLinearTime) {
  int y = x_;
  for (int i = 0; i < 20000; ++i) y = make_.Add<Elemwise>({ScalarFunction::kNegate}, {y});
  make_.Output(y);
  const Graph before = std::move(make_).Build();
  EXPECT_EQ(Value(FoldScale(before, Operators())).nodes().size(), before.nodes().size());
}

}  // namespace
}  // namespace ashlar::testing
