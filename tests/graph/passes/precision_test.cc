#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/passes/pass.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/lrn.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

class PrecisionTest : public ::testing::Test {
 protected:
  int Weights(const Shape& shape) { return make_.Constant(RandomTensor(random_, shape)); }
  int Conv(int x, int64_t channels, const std::string& name) {
    return make_.Add<ConvolutionForward>(
        {}, {x, Weights({channels, make_.var(x).type.shape[1], 1, 1})}, name);
  }
  Graph Assign(DType precision = DType::kFloat16) {
    return Value(AssignPrecision(std::move(make_).Build(), Operators(), precision));
  }
  // The dtypes of a named node's output and inputs: "h" for Float16, "f" for Float32, "i" others.
  static std::string DTypes(const Graph& graph, const std::string& name) {
    for (const OperatorNode& node : graph.nodes()) {
      if (node.name != name) continue;
      const auto letter = [&](int var) {
        const DType dtype = graph.var(var).type.dtype;
        return dtype == DType::kFloat16 ? "h" : dtype == DType::kFloat32 ? "f" : "i";
      };
      std::string text = absl::StrCat(letter(node.outputs[0]), "=");
      for (int input : node.inputs) text += letter(input);
      return text;
    }
    return "no such node";
  }

  GraphMaker make_;
  std::mt19937_64 random_{5};
};

TEST_F(PrecisionTest, CastsStandAtTheBordersOnly) {
  const int x = make_.Input("x", {2, 8, 4, 4});
  const int a = Conv(x, 8, "a");
  const int b = make_.Add<Elemwise>({ScalarFunction::kRelu}, {a}, "b");
  const int c = Conv(b, 8, "c");
  make_.Output(c);
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph), ElementsAre("TypeCvt", "ConvolutionForward", "Elemwise",
                                                 "ConvolutionForward", "TypeCvt"));
  EXPECT_EQ(DTypes(graph, "a"), "h=hh");
  EXPECT_EQ(DTypes(graph, "b"), "h=h");
  EXPECT_EQ(DTypes(graph, "c"), "h=hh");
}

TEST_F(PrecisionTest, SoftmaxAndReductionsStayInFloat32) {
  const int x = make_.Input("x", {2, 8, 4, 4});
  const int a = Conv(x, 8, "a");
  const int sum = make_.Add<Reduce>({ReduceMode::kMean, 3}, {a}, "sum");
  const int flat = make_.Add<Reshape>({}, {sum, make_.Constant(Int32Vector({2, 32}))}, "flat");
  const int product = make_.Add<MatrixMul>({}, {flat, Weights({32, 4})}, "product");
  make_.Output(make_.Add<Softmax>({}, {product}, "softmax"));
  const Graph graph = Assign();
  EXPECT_EQ(DTypes(graph, "sum"), "f=f");
  EXPECT_EQ(DTypes(graph, "flat"), "f=fi");
  EXPECT_EQ(DTypes(graph, "product"), "h=hh");
  EXPECT_EQ(DTypes(graph, "softmax"), "f=h");  // it reads 16 bits and sums in Float32
}

TEST_F(PrecisionTest, NoCastsStandBeforeWhatTakesAnyDType) {
  const int a = Conv(make_.Input("x", {2, 8, 4, 4}), 8, "a");
  make_.Output(make_.Add<TypeCvt>({DType::kInt32}, {a}, "integers"));
  make_.Output(make_.Add<TypeCvt>({DType::kFloat16}, {a}, "half"));
  make_.Output(make_.Add<Softmax>({1}, {a}, "softmax"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("TypeCvt", "ConvolutionForward", "TypeCvt", "TypeCvt", "Softmax"));
  EXPECT_EQ(DTypes(graph, "integers"), "i=h");
  EXPECT_EQ(DTypes(graph, "half"), "h=h");
  EXPECT_EQ(DTypes(graph, "softmax"), "f=h");
}

TEST_F(PrecisionTest, OthersFollowTheirInputs) {
  const int x = make_.Input("x", {1, 8, 4, 4});
  const int image = Conv(x, 8, "image");
  const int wide = make_.Add<Elemwise>({ScalarFunction::kTanh}, {x}, "wide");
  const int sum = make_.Add<Elemwise>({ScalarFunction::kAdd}, {wide, image}, "sum");
  const int pool = make_.Add<PoolingForward>({}, {sum}, "pool");
  make_.Output(make_.Add<Concat>({1}, {pool, pool}, "concat"));
  make_.Output(make_.Add<LRN>({}, {pool}, "lrn"));
  make_.Output(make_.Add<Elemwise>({ScalarFunction::kExp}, {image}, "exp"));
  const Graph graph = Assign();
  EXPECT_EQ(DTypes(graph, "wide"), "f=f");
  EXPECT_EQ(DTypes(graph, "sum"), "h=hh");
  EXPECT_EQ(DTypes(graph, "pool"), "h=h");
  EXPECT_EQ(DTypes(graph, "concat"), "h=hh");
  EXPECT_EQ(DTypes(graph, "lrn"), "h=h");
  EXPECT_EQ(DTypes(graph, "exp"), "f=f");
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
