// Operators with large constants, computed in panels.
#include "runtime/plan/stages/panels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/matrix_mul_bias.h"
#include "opr/type_cvt.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

class PanelsTest : public ::testing::Test {
 protected:
  int Random(const Shape& shape) { return make_.Constant(RandomTensor(random_, shape)); }
  // Cuts, and expects outputs that differ by at most `tolerance`.
  Graph Cut(int output, int64_t panel_bytes, const Shape& x, int64_t group_bytes = 0,
            double tolerance = 0) {
    make_.Output(output);
    const Graph before = std::move(make_).Build();
    Graph after = Value(CutIntoPanels(before, Operators(), panel_bytes, group_bytes));
    const HostTensor input = RandomTensor(random_, x);
    EXPECT_TRUE(Near(Value(EvaluateGraph(after, {{"x", input}}))[0],
                     Value(EvaluateGraph(before, {{"x", input}}))[0], tolerance));
    return after;
  }
  static int64_t LargestConstant(const Graph& graph) {
    int64_t bytes = 0;
    for (const OperatorNode& node : graph.nodes()) {
      if (node.constant != nullptr) bytes = std::max(bytes, node.constant->bytes());
    }
    return bytes;
  }

  std::mt19937_64 random_{5};
  GraphMaker make_;
};

TEST_F(PanelsTest, ConvolutionsAreCutAlongTheirChannels) {
  const int x = make_.Input("x", {1, 8, 4, 4});
  const int y = make_.Add<ConvolutionForward>({}, {x, Random({64, 8, 1, 1})}, "expand");
  const int z = make_.Add<ConvBiasForward>(
      {{}, ScalarFunction::kRelu}, {y, Random({64, 64, 1, 1}), Random({1, 64, 1, 1}), y}, "last");
  const Var var = make_.var(z);
  const Graph after = Cut(z, 32 * 64 * 4, {1, 8, 4, 4});
  EXPECT_THAT(ComputingTypes(after),
              ElementsAre("ConvolutionForward", "Subtensor", "ConvBiasForward", "Subtensor",
                          "ConvBiasForward", "Concat"));
  EXPECT_EQ(LargestConstant(after), 32 * 64 * 4);
  const Var& output = after.var(after.outputs()[0].var);
  EXPECT_EQ(output.name, var.name);
  EXPECT_EQ(output.id, var.id);
}

// A depthwise convolution and the wide one in front of it are cut alike, so that no channel of the
// wide image is joined. The next convolution adds groups if its output is narrower.
TEST_F(PanelsTest, WideImagesInFrontOfDepthwiseConvolutionsAreMadeInGroups) {
  for (const auto& [channels, narrow] :
       std::vector<std::pair<int64_t, int64_t>>{{40, 8}, {40, 40}, {64, 8}, {64, 72}}) {
    SCOPED_TRACE(absl::StrCat(channels, " to ", narrow));
    make_ = GraphMaker();
    const int x = make_.Input("x", {2, 8, 4, 6});
    const int y = make_.Add<ConvBiasForward>(
        {{}, ScalarFunction::kRelu}, {x, Random({channels, 8, 1, 1}), Random({1, channels, 1, 1})});
    ConvBiasParam param;
    param.sparse = SparseMode::kGroup;
    param.pad_h = param.pad_w = 1;
    const int z = make_.Add<ConvBiasForward>(
        param, {y, Random({channels, 1, 1, 3, 3}), Random({1, channels, 1, 1})});
    const int w = make_.Add<ConvBiasForward>(
        {}, {z, Random({narrow, channels, 1, 1}), Random({1, narrow, 1, 1})}, "project");
    // Rows of a block of channels: 16 * 6 floats.
    const bool adds = narrow < channels;
    const Graph after = Cut(w, 0, {2, 8, 4, 6}, 16 * 6 * 4, adds ? 1e-4 : 0);
    const std::vector<std::string> made = ComputingTypes(after);
    const int64_t groups = (channels + 15) / 16;
    EXPECT_EQ(std::count(made.begin(), made.end(), "ConvBiasForward"),
              2 * groups + (adds ? groups : 1));
    EXPECT_EQ(std::count(made.begin(), made.end(), "Concat"), adds ? 0 : 1);
    for (const Var& var : after.vars()) {
      const bool wide =
          var.type.shape.rank() == 4 && var.type.shape[1] > 16 && var.type.shape[3] == 6;
      if (wide && var.name != "project") {
        EXPECT_EQ(after.node(var.producer).op->type(), "Concat") << var.name;
      }
    }
  }
}

// Each group of a grouped convolution reads its own channels, here 4 or 24 for 8: panels have whole
// blocks of 16 channels on both sides.
TEST_F(PanelsTest, WideImagesInFrontOfGroupedConvolutionsAreMadeInGroups) {
  for (const int64_t groups : {16, 10}) {
    for (const int64_t read : {4, 24}) {
      make_ = GraphMaker();
      const int64_t wide = groups * read, made = groups * 8;
      const int x = make_.Input("x", {1, 8, 4, 6});
      const int y = make_.Add<ConvBiasForward>(
          {{}, ScalarFunction::kRelu}, {x, Random({wide, 8, 1, 1}), Random({1, wide, 1, 1})});
      const int f = make_.Add<Elemwise>({ScalarFunction::kTanh}, {y});
      ConvBiasParam param;
      param.sparse = SparseMode::kGroup;
      param.pad_h = param.pad_w = 1;
      const int z = make_.Add<ConvBiasForward>(
          param, {f, Random({groups, 8, read, 3, 3}), Random({1, made, 1, 1})});
      const Graph after = Cut(z, 0, {1, 8, 4, 6}, 1);
      const int64_t step = read == 4 ? 4 : 2;  // groups of a panel
      const std::vector<std::string> types = ComputingTypes(after);
      EXPECT_EQ(std::count(types.begin(), types.end(), "Elemwise"), (groups + step - 1) / step);
      for (const Var& var : after.vars()) {
        if (var.type.shape.rank() != 4 || var.type.shape[3] != 6) continue;
        if (after.node(var.producer).op->type() == "Concat") continue;
        EXPECT_LE(var.type.shape[1], step * std::max<int64_t>(read, 8)) << var.name;
      }
    }
  }
}

// The second of two dense convolutions adds what each group of channels brings; its activation
// comes last.
TEST_F(PanelsTest, WideImagesBetweenDenseConvolutionsAreMadeInGroups) {
  for (const bool adds : {false, true}) {
    make_ = GraphMaker();
    const int x = make_.Input("x", {2, 8, 4, 6});
    const int y = make_.Add<ConvBiasForward>({}, {x, Random({72, 8, 1, 1}), Random({1, 72, 1, 1})});
    const int f = make_.Add<Elemwise>({ScalarFunction::kGelu}, {y});
    const int w = Random({8, 72, 1, 1});
    const ConvBiasParam relu = {{}, ScalarFunction::kRelu};
    const int z = adds ? make_.Add<ConvBiasForward>(relu, {f, w, Random({1, 8, 1, 1}), x}, "last")
                       : make_.Add<ConvolutionForward>({}, {f, w}, "last");
    make_.Output(z);
    const Graph before = std::move(make_).Build();
    const Graph after = Value(CutIntoPanels(before, Operators(), 0, 32 * 6 * 4));
    const HostTensor input = RandomTensor(random_, {2, 8, 4, 6});
    EXPECT_TRUE(Near(Value(EvaluateGraph(after, {{"x", input}}))[0],
                     Value(EvaluateGraph(before, {{"x", input}}))[0], 1e-4));
    for (const Var& var : after.vars()) {
      if (var.type.shape.rank() == 4 && var.type.shape[3] == 6) {
        EXPECT_LE(var.type.shape[1], 32) << var.name;
      }
    }
    std::vector<std::string> types = ComputingTypes(after);
    EXPECT_EQ(types.size(), 9u);
    EXPECT_EQ(types.back(), "ConvBiasForward");
    EXPECT_EQ(WidestGroupRow(before, Operators()), 72 * 6 * 4);
  }
}

// Rows that are no wider than those before and after, and sums that would be rounded to 16 bits,
// stay whole.
TEST_F(PanelsTest, DenseConvolutionsOfNarrowImagesStayWhole) {
  for (const bool half : {false, true}) {
    make_ = GraphMaker();
    int x = make_.Input("x", {1, 8, 4, 4});
    if (half) x = make_.Add<TypeCvt>({DType::kFloat16}, {x});
    const auto filter = [&](const Shape& shape) {
      return half ? make_.Constant(HostTensor::Zeros(DType::kFloat16, shape)) : Random(shape);
    };
    const int y = make_.Add<ConvolutionForward>({}, {x, filter({64, 8, 1, 1})});
    make_.Output(make_.Add<ConvolutionForward>({}, {y, filter({half ? 8 : 64, 64, 1, 1})}));
    const Graph graph = std::move(make_).Build();
    EXPECT_EQ(WidestGroupRow(graph, Operators()), 0);
  }
}

// One that is read twice, or has one filter for all channels, stays whole.
TEST_F(PanelsTest, OtherWideImagesStayWhole) {
  const int x = make_.Input("x", {1, 8, 4, 4});
  const int y = make_.Add<ConvolutionForward>({}, {x, Random({64, 8, 1, 1})});
  const int z = make_.Add<ConvolutionForward>({}, {y, Random({64, 64, 1, 1})});
  ConvolutionParam param;
  param.sparse = SparseMode::kGroup;
  const int w = make_.Add<ConvolutionForward>(param, {z, Random({64, 1, 1, 1, 1})});
  make_.Output(z);
  const Graph after = Cut(w, 0, {1, 8, 4, 4}, 16);
  EXPECT_EQ(ComputingTypes(after), std::vector<std::string>(3, "ConvolutionForward"));
}

// The last panel is smaller, and panels have whole blocks of columns where they are small enough.
TEST_F(PanelsTest, ProductsAreCutAlongTheirColumns) {
  for (const bool transposed : {false, true}) {
    make_ = GraphMaker();
    const int x = make_.Input("x", {3, 10});
    const int b = Random(transposed ? Shape{200, 10} : Shape{10, 200});
    MatrixMulBiasParam param;
    param.transposeB = transposed;
    const int y = make_.Add<MatrixMulBias>(param, {x, b, Random({200})});
    const Graph after = Cut(y, 100 * 10 * 4, {3, 10});
    EXPECT_THAT(ComputingTypes(after), ElementsAre("MatrixMulBias", "MatrixMulBias",
                                                   "MatrixMulBias", "MatrixMulBias", "Concat"));
    EXPECT_EQ(LargestConstant(after), 64 * 10 * 4);
  }
}

TEST_F(PanelsTest, OperatorsThatShareAConstantShareItsParts) {
  const int x = make_.Input("x", {2, 32});
  const int b = Random({32, 32});
  const int y = make_.Add<MatrixMul>({}, {make_.Add<MatrixMul>({}, {x, b}), b});
  const Graph after = Cut(y, 32 * 16 * 4, {2, 32});
  int constants = 0;
  for (const OperatorNode& node : after.nodes()) constants += node.op->role() == Role::kConstant;
  EXPECT_EQ(constants, 2);
}

TEST_F(PanelsTest, GroupsAndSmallWeightsStayWhole) {
  const int x = make_.Input("x", {1, 32, 4, 4});
  ConvolutionParam groups;
  groups.sparse = SparseMode::kGroup;
  const int y = make_.Add<ConvolutionForward>(groups, {x, Random({2, 32, 16, 1, 1})});
  const int z = make_.Add<ConvolutionForward>({}, {y, Random({16, 64, 1, 1})});
  EXPECT_THAT(ComputingTypes(Cut(z, 64, {1, 32, 4, 4})),
              ElementsAre("ConvolutionForward", "ConvolutionForward"));
}

}  // namespace
}  // namespace ashlar::testing
