#include <algorithm>

#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution_backward_data.h"
#include "opr/convolution_backward_filter.h"
#include "opr/get_var_shape.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/resize.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "tests/graph/passes/pass_test.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

class LayoutTest : public PassTest {
 protected:
  int Zeros(const Shape& shape) {
    return make_.Constant(HostTensor::Zeros(DType::kFloat32, shape));
  }
  int Conv(int x, int64_t out_channels, const std::string& name = "") {
    const int64_t in_channels = make_.var(x).type.shape[1];
    return make_.Add<ConvolutionForward>({}, {x, Zeros({out_channels, in_channels, 1, 1})}, name);
  }
  Graph Assign() { return Value(AssignLayout(std::move(make_).Build(), Operators())); }
  // Expects formats: "b" for NCHW16c, "r" for row-major.
  static void ExpectFormats(const Graph& graph, const NodeLetters& expected,
                            Format image_format = Format::kNCHW16c) {
    ExpectLetters(graph, expected,
                  [&](const TensorType& type) { return type.format == image_format ? "b" : "r"; });
  }
};

TEST_F(LayoutTest, TheStemReadsTheRowMajorImage) {
  const int x = make_.Input("x", {2, 3, 8, 8});
  const int stem = Conv(x, 20, "stem");
  make_.Output(Conv(stem, 10, "next"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("ConvolutionForward", "ConvolutionForward", "RelayoutFormat"));
  ExpectFormats(graph, {{"stem", "b=rr"}, {"next", "b=br"}});
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.format, Format::kDefault);
  EXPECT_EQ(graph.outputs()[0].name, "next");
}

TEST_F(LayoutTest, GradientsOfFiltersReadBlocksAndAreRowMajor) {
  const int x = make_.Input("x", {2, 3, 8, 8});
  const int stem = Conv(x, 20, "stem"), next = Conv(stem, 16, "next");
  const auto add = [&](int src, int diff, const Shape& filter, const std::string& name) {
    ConvolutionParam param;
    if (filter.rank() == 5) param.sparse = SparseMode::kGroup;
    make_.Output(make_.Add<ConvolutionBackwardFilter>(param, {src, diff, Zeros(filter)}, name));
  };
  add(x, stem, {20, 3, 1, 1}, "of_stem");
  add(stem, next, {16, 20, 1, 1}, "of_next");
  add(stem, stem, {20, 1, 1, 1, 1}, "of_each");  // a filter of rank 5 is no image
  add(make_.Input("y", {2, 32, 8, 8}), next, {16, 32, 1, 1}, "relaid");
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("ConvolutionForward", "ConvolutionForward", "ConvolutionBackwardFilter",
                          "ConvolutionBackwardFilter", "ConvolutionBackwardFilter",
                          "RelayoutFormat", "ConvolutionBackwardFilter"));
  ExpectFormats(
      graph,
      {{"of_stem", "r=rbr"}, {"of_next", "r=bbr"}, {"of_each", "r=bbr"}, {"relaid", "r=bbr"}});
}

TEST_F(LayoutTest, WideInputsAreRelaidOnce) {
  const int x = make_.Input("x", {2, 16, 8, 8});
  const int a = Conv(x, 16, "a"), b = Conv(x, 16, "b");
  make_.Output(Elem(ScalarFunction::kAdd, {a, b}, "sum"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("RelayoutFormat", "ConvolutionForward", "ConvolutionForward", "Elemwise",
                          "RelayoutFormat"));
  ExpectFormats(graph, {{"a", "b=br"}, {"b", "b=br"}, {"sum", "b=bb"}});
}

TEST_F(LayoutTest, ResidualBlocksNeedNoCopies) {
  const int stem = Conv(make_.Input("x", {1, 3, 9, 9}), 16);
  const int pool = make_.Add<PoolingForward>({}, {stem}, "pool");
  const int relu =
      Elem(ScalarFunction::kFuseAddRelu, {Zeros({1, 16, 1, 1}), Conv(pool, 16)}, "relu");
  make_.Output(make_.Add<ConvBiasForward>(
      {}, {relu, Zeros({16, 16, 1, 1}), Zeros({1, 16, 1, 1}), pool}, "residual"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("ConvolutionForward", "PoolingForward", "ConvolutionForward", "Elemwise",
                          "ConvBiasForward", "RelayoutFormat"));
  // The constant keeps its format.
  ExpectFormats(graph, {{"pool", "b=b"}, {"relu", "b=rb"}, {"residual", "b=brrb"}});
}

TEST_F(LayoutTest, WhatGrowsForRowMajorReadersIsConvertedBefore) {
  // With 21 channels, the small input image is in blocks and the large output is not.
  ResizeParam param;
  param.axes = {2, 3};
  const int sizes = make_.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {32, 32}));
  const int small = Conv(make_.Input("x", {1, 16, 4, 4}), 21, "conv");
  make_.Output(make_.Add<Resize>(param, {small, sizes}, "resize"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("RelayoutFormat", "ConvolutionForward", "RelayoutFormat", "Resize"));
  ExpectFormats(graph, {{"conv", "b=br"}, {"resize", "r=rr"}});
}

// Regression: a map of one channel took sixteen times its bytes, and was the largest tensor of a
// detector.
TEST_F(LayoutTest, BlocksDoNotMakeAMapOfOneChannelTheLargestImage) {
  const int x = make_.Input("x", {1, 3, 8, 8});
  const auto doubled = [&](int of, int64_t channels, const std::string& name) {
    ConvolutionParam param;
    param.stride_h = param.stride_w = 2;
    const int filter = Zeros({make_.var(of).type.shape[1], channels, 2, 2});
    return make_.Add<ConvolutionBackwardData>(param, {of, filter}, name);
  };
  const int stem = Conv(x, 16, "stem");
  const int map = doubled(stem, 1, "map");
  make_.Output(make_.Add<Elemwise>({ScalarFunction::kSigmoid}, {map}, "sigmoid"));
  make_.Output(Conv(Conv(stem, 1, "small"), 16, "wide"));  // no larger than the stem
  const Graph graph = Assign();
  ExpectFormats(graph, {{"map", "r=br"}, {"sigmoid", "r=r"}, {"small", "b=br"}});
}

TEST_F(LayoutTest, NothingIsBlockedWithoutNeed) {
  const int x = make_.Input("x", {1, 64, 4, 4});
  make_.Output(Elem(ScalarFunction::kExp, {Elem(ScalarFunction::kRelu, {x})}));
  EXPECT_THAT(ComputingTypes(Assign()), ElementsAre("Elemwise", "Elemwise"));
}

// Regression: two conversions took as long as the pools between them. The first pool here makes
// images for a convolution, the others are between row-major tensors.
TEST_F(LayoutTest, PoolsAreBlockedOnlyBesideConvolutions) {
  const auto pool = [&](int of) { return make_.Add<PoolingForward>({}, {of}); };
  make_.Output(Conv(Elem(ScalarFunction::kRelu, {pool(make_.Input("x", {1, 64, 9, 9}))}), 64));
  make_.Output(Elem(ScalarFunction::kRelu, {pool(pool(make_.Input("y", {1, 64, 9, 9})))}));
  EXPECT_THAT(ComputingTypes(Assign()),
              ElementsAre("RelayoutFormat", "PoolingForward", "Elemwise", "ConvolutionForward",
                          "RelayoutFormat", "PoolingForward", "PoolingForward", "Elemwise"));
}

TEST_F(LayoutTest, PointwiseOperatorsFollowTheirInputs) {
  const int image = Conv(make_.Input("x", {1, 3, 4, 4}), 32);
  const int wide = make_.Input("wide", {1, 32, 4, 4}), map = make_.Input("map", {1, 1, 4, 4});
  const int row = make_.Input("row", {4});
  const int a = Elem(ScalarFunction::kAdd, {wide, image}, "a");
  const int b = Elem(ScalarFunction::kMul, {a, map}, "b");
  make_.Output(Elem(ScalarFunction::kFuseMulAdd3, {b, row, Zeros({1, 32, 4, 4})}, "c"));
  const Graph graph = Assign();
  ExpectFormats(graph, {{"a", "b=bb"}, {"b", "b=br"}, {"c", "b=brr"}});
}

TEST_F(LayoutTest, OutputsOfAnotherRankAreRowMajor) {
  const int image = Conv(make_.Input("x", {1, 3, 4, 4}), 16);
  const int batch = make_.Input("batch", {2, 1, 1, 1, 1});
  make_.Output(Elem(ScalarFunction::kAdd, {image, batch}, "sum"));
  ExpectFormats(Assign(), {{"sum", "r=rr"}});
}

TEST_F(LayoutTest, ConcatIsBlockedWhereChannelsAreWholeBlocks) {
  const int x = make_.Input("x", {1, 3, 4, 4}), wide = make_.Input("wide", {1, 32, 4, 4});
  const int a = Conv(x, 16), b = Conv(x, 24);
  make_.Output(make_.Add<Concat>({1}, {a, wide, Zeros({1, 16, 4, 4})}, "whole"));
  make_.Output(make_.Add<Concat>({1}, {a, b}, "part"));
  const Graph graph = Assign();
  ExpectFormats(graph, {{"whole", "b=bbb"}, {"part", "r=rr"}});
}

TEST_F(LayoutTest, ImagesThatAreTakenApartAreRelaidWhole) {
  const int x = make_.Input("x", {4, 16, 8, 8});
  const auto slice = [&](int axis, int64_t begin, const std::string& name) {
    const int from = make_.Constant(Int64Vector({begin})),
              to = make_.Constant(Int64Vector({begin + 3}));
    return make_.Add<Subtensor>({.axis = {axis}, .begin = {1}, .end = {1}, .step = {0}, .idx = {0}},
                                {x, from, to}, name);
  };
  make_.Output(Conv(slice(0, 0, "first"), 16, "a"));
  make_.Output(Conv(slice(0, 1, "last"), 16, "b"));
  make_.Output(Conv(slice(2, 1, "rows"), 16, "c"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("RelayoutFormat", "Subtensor", "ConvolutionForward", "RelayoutFormat",
                          "Subtensor", "ConvolutionForward", "RelayoutFormat", "Subtensor",
                          "RelayoutFormat", "ConvolutionForward", "RelayoutFormat"));
  ExpectFormats(graph, {{"first", "b=brr"}, {"last", "b=brr"}, {"rows", "r=rrr"}});
}

TEST_F(LayoutTest, RowMajorReadersShareOneRelayout) {
  const int image = Conv(make_.Input("x", {1, 3, 4, 4}), 16);
  make_.Output(make_.Add<Reduce>({ReduceMode::kSum, 2}, {image}, "a"));
  make_.Output(make_.Add<Reduce>({ReduceMode::kMax, 3}, {image}, "b"));
  make_.Output(image);
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("ConvolutionForward", "RelayoutFormat", "Reduce", "Reduce"));
  ExpectFormats(graph, {{"a", "r=r"}});
}

TEST_F(LayoutTest, ShapesAreReadInAnyFormat) {
  const int image = Conv(make_.Input("x", {1, 3, 4, 4}), 16);
  make_.Output(make_.Add<GetVarShape>({}, {image}, "shape"));
  const Graph graph = Assign();
  ExpectFormats(graph, {{"shape", "r=b"}});
}

TEST_F(LayoutTest, AfterGlobalPoolingTheRelayoutIsAView) {
  const int image = Conv(make_.Input("x", {2, 3, 4, 4}), 64);
  const int pool = make_.Add<PoolingForward>(
      {.mode = PoolingMode::kAverage, .window_h = 4, .window_w = 4}, {image}, "pool");
  const int flat = make_.Add<Reshape>({}, {pool, make_.Constant(Int64Vector({2, -1}))}, "flat");
  make_.Output(make_.Add<MatrixMul>({}, {flat, Zeros({64, 10})}));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph), ElementsAre("ConvolutionForward", "PoolingForward",
                                                 "RelayoutFormat", "Reshape", "MatrixMul"));
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->type() != "RelayoutFormat") continue;
    EXPECT_FALSE(node.op->aliasing(graph.SiteOf(node)).views.empty());
  }
}

TEST_F(LayoutTest, OtherDTypesStayRowMajor) {
  const int image = Conv(make_.Input("x", {1, 3, 4, 4}), 16);
  const int whole = make_.Add<TypeCvt>({DType::kInt32}, {image}, "whole");
  make_.Output(Elem(ScalarFunction::kRelu, {whole}, "relu"));
  ExpectFormats(Assign(), {{"whole", "r=r"}, {"relu", "r=r"}});
}

TEST_F(LayoutTest, Floats16LieInBlocksToo) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    make_ = GraphMaker();
    const int image = Conv(make_.Input("x", {1, 3, 4, 4}), 16);
    const int half = make_.Add<TypeCvt>({dtype}, {image}, "half");
    make_.Output(Elem(ScalarFunction::kRelu, {half}, "relu"));
    ExpectFormats(Assign(), {{"half", "b=b"}, {"relu", "b=b"}});
  }
}

// "b" stands for NHWC here.
class ChannelsLastTest : public LayoutTest {
 protected:
  Graph Assign() {
    return Value(AssignLayout(std::move(make_).Build(), Operators(), Format::kNHWC));
  }
  static void ExpectFormats(const Graph& graph, const NodeLetters& expected) {
    LayoutTest::ExpectFormats(graph, expected, Format::kNHWC);
  }
};

TEST_F(ChannelsLastTest, ImagesOfFewChannelsAndOfSixteenBitsAreToo) {
  const int x = make_.Input("x", {2, 3, 8, 8});
  const int stem = Conv(x, 20, "stem");
  const int half = make_.Add<TypeCvt>({DType::kFloat16}, {stem}, "half");
  make_.Output(Elem(ScalarFunction::kRelu, {half}, "relu"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph), ElementsAre("RelayoutFormat", "ConvolutionForward", "TypeCvt",
                                                 "Elemwise", "RelayoutFormat"));
  ExpectFormats(graph, {{"stem", "b=br"}, {"half", "b=b"}, {"relu", "b=b"}});
}

// A copy of the caller's image would take the same amount of memory again.
TEST_F(ChannelsLastTest, ConvolutionsReadPlanesInPlaceIfTheDeviceDoes) {
  const int x = make_.Input("x", {2, 3, 8, 8});
  make_.Output(Conv(Conv(x, 20, "stem"), 10, "next"));
  const Graph graph = Value(AssignLayout(std::move(make_).Build(), Operators(), Format::kNHWC,
                                         /*reads_planes=*/true));
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("ConvolutionForward", "ConvolutionForward", "RelayoutFormat"));
  ExpectFormats(graph, {{"stem", "b=rr"}, {"next", "b=br"}});
}

TEST_F(ChannelsLastTest, ConcatIsWhateverTheChannels) {
  const int x = make_.Input("x", {1, 3, 4, 4});
  make_.Output(make_.Add<Concat>({1}, {Conv(x, 16), Conv(x, 5)}, "concat"));
  ExpectFormats(Assign(), {{"concat", "b=bb"}});
}

TEST_F(ChannelsLastTest, WhatBroadcastsStaysRowMajor) {
  const int image = Conv(make_.Input("x", {1, 3, 4, 4}), 16);
  const int map = make_.Input("map", {1, 1, 4, 4}), wide = make_.Input("wide", {1, 16, 4, 4});
  make_.Output(Elem(ScalarFunction::kFuseMulAdd3, {image, map, wide}, "sum"));
  ExpectFormats(Assign(), {{"sum", "b=brb"}});
}

// The casts of a 16-bit float model stand at its inputs and outputs, where the formats change too.
TEST_F(ChannelsLastTest, ConversionsChangeTheFormatToo) {
  const int x = make_.Input("x", {2, 3, 8, 8});
  const int low = make_.Add<TypeCvt>({DType::kFloat16}, {x}, "low");
  const auto conv = [&](int image, const Shape& filter, const std::string& name) {
    const int weights = make_.Constant(HostTensor::Zeros(DType::kFloat16, filter));
    return make_.Add<ConvolutionForward>({}, {image, weights}, name);
  };
  const int a = conv(low, {20, 3, 1, 1}, "a"), b = conv(low, {20, 3, 1, 1}, "b");
  const int sum = Elem(ScalarFunction::kAdd, {a, b}, "sum");
  make_.Output(make_.Add<TypeCvt>({DType::kFloat32}, {sum}, "high"));
  const int summed = make_.Add<TypeCvt>({DType::kFloat32}, {a}, "summed");
  make_.Output(make_.Add<Reduce>({ReduceMode::kSum, 1}, {summed}, "reduce"));
  const Graph graph = Assign();
  EXPECT_THAT(ComputingTypes(graph),
              ElementsAre("TypeCvt", "ConvolutionForward", "ConvolutionForward", "Elemwise",
                          "TypeCvt", "TypeCvt", "Reduce"));
  ExpectFormats(graph, {{"low", "b=r"}, {"a", "b=br"}, {"high", "r=b"}, {"summed", "r=b"}});
}

TEST_F(ChannelsLastTest, ConversionsFollowWhereTheirReadersDisagree) {
  const int x = make_.Input("x", {2, 3, 8, 8});
  const int low = make_.Add<TypeCvt>({DType::kFloat16}, {x}, "low");
  const int filter = make_.Constant(HostTensor::Zeros(DType::kFloat16, {20, 3, 1, 1}));
  const int image = make_.Add<ConvolutionForward>({}, {low, filter});
  make_.Output(low);
  const int high = make_.Add<TypeCvt>({DType::kFloat32}, {image}, "high");
  make_.Output(high);
  make_.Output(Conv(high, 5, "conv"));
  make_.Output(make_.Add<TypeCvt>({DType::kInt32}, {image}, "integers"));
  const Graph graph = Assign();
  ExpectFormats(graph, {{"low", "r=r"}, {"high", "b=b"}, {"conv", "b=br"}, {"integers", "r=r"}});
}

TEST_F(LayoutTest, WeightsAreLeftAlone) {
  // A filter with the output's shape: 32 images of 32 channels and one pixel.
  const int x = make_.Input("x", {32, 32, 1, 1});
  make_.Output(Conv(x, 32, "conv"));
  ExpectFormats(Assign(), {{"conv", "b=br"}});
}

TEST_F(LayoutTest, KeepsIdsNamesAndValues) {
  const int x = make_.Input("x", {2, 3, 5, 5});
  const int filter = Random({17, 3, 2, 2});
  const int conv = make_.Add<ConvolutionForward>({}, {x, filter}, "conv");
  make_.Output(Elem(ScalarFunction::kSigmoid, {conv}, "sigmoid"));
  const Graph before = std::move(make_).Build();
  const Graph after = Value(AssignLayout(before, Operators()));
  ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 5, 5}), 0);
  for (const Var& var : before.vars()) {
    EXPECT_TRUE(std::any_of(after.vars().begin(), after.vars().end(), [&](const Var& other) {
      return other.id == var.id && other.name == var.name && other.type.shape == var.type.shape;
    })) << var.name;
  }
}

}  // namespace
}  // namespace ashlar::testing
