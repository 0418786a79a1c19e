#include <algorithm>

#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/lrn.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "tests/graph/passes/pass_test.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

class PrecisionTest : public PassTest {
 protected:
  int Conv(int x, int64_t channels, const std::string& name) {
    return make_.Add<ConvolutionForward>(
        {}, {x, Random({channels, make_.var(x).type.shape[1], 1, 1})}, name);
  }
  Graph Assign(DType precision = DType::kFloat16) {
    return Value(AssignPrecision(std::move(make_).Build(), Operators(), precision));
  }
  // Expects dtypes: "h" for Float16, "f" for Float32, "i" for others.
  static void ExpectDTypes(const Graph& graph, const NodeLetters& expected) {
    ExpectLetters(graph, expected, [](const TensorType& type) {
      return type.dtype == DType::kFloat16 ? "h" : type.dtype == DType::kFloat32 ? "f" : "i";
    });
  }
};

TEST_F(PrecisionTest, CastsStandAtTheBordersOnly) {
  const int x = make_.Input("x", {2, 8, 4, 4});
  const int a = Conv(x, 8, "a");
  const int b = Elem(ScalarFunction::kRelu, {a}, "b");
  const int c = Conv(b, 8, "c");
  make_.Output(c);
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph), ElementsAre("TypeCvt", "ConvolutionForward", "Elemwise",
                                                 "ConvolutionForward", "TypeCvt"));
  ExpectDTypes(graph, {{"a", "h=hh"}, {"b", "h=h"}, {"c", "h=hh"}});
}

TEST_F(PrecisionTest, SoftmaxAndReductionsStayInFloat32) {
  const int a = Conv(make_.Input("x", {2, 8, 4, 4}), 8, "a");
  const int sum = make_.Add<Reduce>({ReduceMode::kMean, 3}, {a}, "sum");
  const int flat = make_.Add<Reshape>({}, {sum, make_.Constant(Int32Vector({2, 32}))}, "flat");
  const int product = make_.Add<MatrixMul>({}, {flat, Random({32, 4})}, "product");
  make_.Output(make_.Add<Softmax>({}, {product}, "softmax"));
  const Graph graph = Assign();
  // Softmax reads 16 bits and sums in Float32.
  ExpectDTypes(graph, {{"sum", "f=f"}, {"flat", "f=fi"}, {"product", "h=hh"}, {"softmax", "f=h"}});
}

// Sums of integers are exact in Float32, and beyond the range of 16 bits.
TEST_F(PrecisionTest, SumsThatAreAskedToBeFloat32Stay) {
  const int a = Conv(make_.Input("x", {2, 8, 4, 4}), 8, "a");
  const int b = make_.Add<ConvolutionForward>({.compute_mode = ComputeMode::kFloat32},
                                              {a, Random({8, 8, 1, 1})}, "b");
  make_.Output(Conv(b, 8, "c"));
  ExpectDTypes(Assign(), {{"a", "h=hh"}, {"b", "f=ff"}, {"c", "h=hh"}});
}

TEST_F(PrecisionTest, NoCastsStandBeforeWhatTakesAnyDType) {
  const int a = Conv(make_.Input("x", {2, 8, 4, 4}), 8, "a");
  make_.Output(make_.Add<TypeCvt>({DType::kInt32}, {a}, "integers"));
  make_.Output(make_.Add<TypeCvt>({DType::kFloat16}, {a}, "half"));
  make_.Output(make_.Add<Softmax>({1}, {a}, "softmax"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("TypeCvt", "ConvolutionForward", "TypeCvt", "TypeCvt", "Softmax"));
  ExpectDTypes(graph, {{"integers", "i=h"}, {"half", "h=h"}, {"softmax", "f=h"}});
}

TEST_F(PrecisionTest, OthersFollowTheirInputs) {
  const int x = make_.Input("x", {1, 8, 4, 4});
  const int image = Conv(x, 8, "image");
  const int wide = Elem(ScalarFunction::kTanh, {x}, "wide");
  const int sum = Elem(ScalarFunction::kAdd, {wide, image}, "sum");
  const int pool = make_.Add<PoolingForward>({}, {sum}, "pool");
  make_.Output(make_.Add<Concat>({1}, {pool, pool}, "concat"));
  make_.Output(make_.Add<LRN>({}, {pool}, "lrn"));
  make_.Output(Elem(ScalarFunction::kExp, {image}, "exp"));
  const Graph graph = Assign();
  ExpectDTypes(graph, {{"wide", "f=f"},
                       {"sum", "h=hh"},
                       {"pool", "h=h"},
                       {"concat", "h=hh"},
                       {"lrn", "h=h"},
                       {"exp", "f=f"}});
}

TEST_F(PrecisionTest, ReadersShareACastAndConstantsAreConverted) {
  const int x = make_.Input("x", {1, 8, 4, 4});
  make_.Output(Conv(x, 8, "a"));
  make_.Output(Conv(x, 4, "b"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph), ElementsAre("TypeCvt", "ConvolutionForward", "TypeCvt",
                                                 "ConvolutionForward", "TypeCvt"));
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->type() != "ConvolutionForward") continue;
    ASSERT_NE(graph.constant(node.inputs[1]), nullptr);
    EXPECT_EQ(graph.constant(node.inputs[1])->dtype(), DType::kFloat16);
  }
}

TEST_F(PrecisionTest, TheCallersTensorsKeepTheirDTypesAndAboutTheirValues) {
  for (const auto& [precision, tolerance] :
       {std::pair(DType::kFloat16, 5e-3), std::pair(DType::kBFloat16, 4e-2)}) {
    GraphMaker make;
    std::mt19937_64 random(7);
    const int x = make.Input("x", {2, 6, 5, 5});
    const int filter = make.Constant(RandomTensor(random, {4, 6, 3, 3}));
    const int bias = make.Constant(RandomTensor(random, {1, 4, 1, 1}));
    ConvBiasParam param;
    param.nonlineMode = ScalarFunction::kSigmoid;
    make.Output(make.Add<ConvBiasForward>(param, {x, filter, bias}, "conv"));
    const Graph before = std::move(make).Build();
    const Graph after = Value(AssignPrecision(before, Operators(), precision));
    EXPECT_EQ(after.var(after.inputs()[0].var).type.dtype, DType::kFloat32);
    EXPECT_EQ(after.outputs()[0].name, before.outputs()[0].name);
    const HostTensor image = RandomTensor(random, {2, 6, 5, 5});
    const HostTensor low = Value(EvaluateGraph(after, {{"x", image}}))[0];
    EXPECT_EQ(low.dtype(), DType::kFloat32);
    const HostTensor full = Value(EvaluateGraph(before, {{"x", image}}))[0];
    EXPECT_TRUE(Near(low, full, tolerance));
    EXPECT_FALSE(Near(low, full, 1e-7)) << "nothing was rounded";
  }
}

TEST_F(PrecisionTest, OtherPrecisionsAreRefused) {
  make_.Output(make_.Input("x", {2}));
  const Graph graph = std::move(make_).Build();
  for (const DType dtype : {DType::kFloat32, DType::kInt8}) {
    EXPECT_TRUE(FailsWith(AssignPrecision(graph, Operators(), dtype).status(),
                          "expected Float16 or BFloat16"));
  }
}

}  // namespace
}  // namespace ashlar::testing
