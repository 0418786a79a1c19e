#include "graph/tiling/tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/passes/pass.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/pad.h"
#include "opr/pooling.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "tests/support/graph_maker.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using ::ashlar::testing::CountDifferences;
using ::ashlar::testing::GraphMaker;
using ::ashlar::testing::NodesInOrder;
using ::ashlar::testing::Pick;
using ::ashlar::testing::RandomImageGraph;
using ::ashlar::testing::RandomTensor;
using ::ashlar::testing::RandomTiles;
using ::ashlar::testing::RandomWideTiles;
using ::ashlar::testing::Value;
using ::testing::HasSubstr;

HostTensor RandomInput(std::mt19937_64& random, const Graph& graph) {
  return RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
}

absl::StatusOr<Graph> TileInOrder(const Graph& graph, const TileSpec& spec) {
  return Tile(graph, spec, NodesInOrder(graph), Operators());
}

// Returns how many elements of all outputs change when the graph is tiled.
int64_t Differences(const Graph& graph, const TileSpec& spec, const HostTensor& input) {
  const Graph tiled = Value(TileInOrder(graph, spec));
  const std::vector<HostTensor> expected = Value(testing::Evaluate(graph, input));
  const std::vector<HostTensor> actual = Value(testing::Evaluate(tiled, input));
  int64_t differences = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const int64_t count = CountDifferences(expected[i], actual[i]);
    if (count < 0) return count;
    differences += count;
  }
  return differences;
}

class RandomTileTest : public ::testing::TestWithParam<bool> {};

TEST_P(RandomTileTest, AnyGraphInAnyTilesComputesTheSameBits) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 random(seed);
    const Graph graph = RandomImageGraph(random, GetParam());
    const HostTensor input = RandomInput(random, graph);
    for (const TileSpec& spec : {RandomTiles(random, graph), RandomWideTiles(random, graph)}) {
      SCOPED_TRACE(::testing::Message()
                   << "seed " << seed << " joins " << GetParam() << " tiles " << spec.ToString());
      ASSERT_EQ(Differences(graph, spec, input), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ChainsAndJoins, RandomTileTest, ::testing::Bool());

// Regression: tiles of several outputs were joined in the order of a hash table.
TEST(TileTest, TheGraphIsTheSameEveryTime) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = RandomImageGraph(random, true);
    const TileSpec spec = RandomTiles(random, graph);
    const Graph first = Value(Tile(graph, spec, NodesInOrder(graph), Operators()));
    const Graph second = Value(Tile(graph, spec, NodesInOrder(graph), Operators()));
    ASSERT_EQ(first.nodes().size(), second.nodes().size());
    for (size_t i = 0; i < first.nodes().size(); ++i) {
      const OperatorNode &a = first.nodes()[i], &b = second.nodes()[i];
      ASSERT_EQ(a.name, b.name);
      ASSERT_EQ(a.inputs, b.inputs) << a.name;
    }
  }
}

std::vector<std::string> Names(const std::vector<Binding>& bindings) {
  std::vector<std::string> names;
  for (const Binding& binding : bindings) names.push_back(binding.name);
  return names;
}

// Regression: the order of execution decided the position of outputs, by which programs unpack
// them.
TEST(TileTest, OutputsKeepTheDeclaredOrderInAnyOrderOfExecutionAndAllPasses) {
  int64_t several = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const Graph graph = RandomImageGraph(random, true);
    if (graph.outputs().size() < 2) continue;
    const TileSpec spec = RandomTiles(random, graph);
    std::vector<int> order = NodesInOrder(graph);
    std::reverse(order.begin(), order.end());
    absl::StatusOr<Graph> tiled = Tile(graph, spec, order, Operators());
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " tiles " << spec.ToString());
    ASSERT_TRUE(tiled.ok()) << tiled.status();
    ++several;
    EXPECT_EQ(Names(tiled->outputs()), Names(graph.outputs()));
    const PassContext context = {
        .operators = Operators(), .chains = true, .quantized_sums = true, .has_kernel = nullptr};
    for (const Pass& pass : AllPasses()) {
      if (pass.applies != nullptr && !pass.applies(context)) continue;
      tiled = pass.run(*tiled, context);
      ASSERT_TRUE(tiled.ok()) << pass.name << ": " << tiled.status();
      EXPECT_EQ(Names(tiled->outputs()), Names(graph.outputs())) << pass.name;
    }
  }
  EXPECT_GT(several, 50);
}

TEST(TileTest, LinesComputeNothingTwice) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = RandomImageGraph(random, true);
    TileSpec spec = RandomTiles(random, graph);
    TileSegment& outer = spec.segments[0];
    TileSegment& rows = outer.inner.empty() ? outer : outer.inner[0];
    if (rows.kind == TileKind::kBatch) continue;
    rows.kind = TileKind::kLines;
    rows.count_width = 1;
    rows.again.clear();
    const auto work = [](const Graph& g) {
      int64_t sum = 0;
      for (const OperatorNode& node : g.nodes()) {
        if (node.op->type() != "ConvBiasForward") continue;
        sum += node.op->Computation(g.SiteOf(node));
      }
      return sum;
    };
    EXPECT_LE(work(Value(TileInOrder(graph, spec))), work(graph));
  }
}

// Regression: the last strip also computed the rows for which all others had waited.
TEST(TileTest, TheLastLinesAreNoMoreThanOthers) {
  constexpr int64_t kSide = 24, kStrips = 8;
  std::mt19937_64 random(1);
  GraphMaker maker;
  const int input = maker.Input("x", {1, 3, kSide, kSide});
  int x = input;
  for (int i = 0; i < 4; ++i) {
    PoolingParam param;
    param.window_h = param.window_w = 5;
    param.stride_h = param.stride_w = 1;
    param.pad_h = param.pad_w = 2;
    x = maker.Add<PoolingForward>(param, {x});
  }
  maker.Output(x);
  const Graph graph = std::move(maker).Build();
  const auto id = [&](int var) { return graph.node(graph.var(var).producer).id; };
  const TileSpec spec = {{{id(input), id(x), TileKind::kLines, kStrips, 1, {}}}};
  const Graph tiled = Value(TileInOrder(graph, spec));
  int pools = 0;
  for (const OperatorNode& node : tiled.nodes()) {
    if (node.op->type() != "PoolingForward") continue;
    ++pools;
    EXPECT_LE(tiled.var(node.outputs[0]).type.shape[2], kSide / kStrips) << node.name;
  }
  EXPECT_GE(pools, 4 * kStrips);
  EXPECT_EQ(Differences(graph, spec, RandomInput(random, graph)), 0);
}

// Two convolutions and a pool over their whole image, in 8 bits or floats.
struct PooledNet {
  Graph graph;
  int from = 0, again = 0, to = 0;  // ids of the input, the first convolution and the pool
  Shape pooled;                     // the image in front of the pool
};

constexpr OutputType kBytes = {DType::kQuantizedS8, 0.05, 3};

// Adds a convolution with square windows to `channels` channels, of 8 bits if its image is.
int AddConvolution(GraphMaker& maker, std::mt19937_64& random, int x, int64_t channels,
                   int64_t window, int64_t pad) {
  const TensorType type = maker.var(x).type;
  HostTensor filter = RandomTensor(random, {channels, type.shape[1], window, window});
  HostTensor bias = RandomTensor(random, {1, channels, 1, 1});
  ConvBiasParam param;
  param.pad_h = param.pad_w = pad;
  if (IsQuantized(type.dtype)) {
    param.output = kBytes;
    const auto constant = [&](HostTensor& tensor, DType dtype, double most, float scale) {
      HostTensor integers = HostTensor::Zeros(StoredAs(dtype), tensor.shape());
      for (int64_t k = 0; k < tensor.num_elements(); ++k) {
        integers.Set(k, std::round(tensor.At(k) * most));
      }
      tensor = integers.As(dtype, Value(Quantization::Make(dtype, {scale})));
    };
    constant(filter, DType::kQuantizedS8, 60, 0.01f);
    constant(bias, DType::kQuantizedS32, 900, type.quantization.scale() * 0.01f);
  }
  return maker.Add<ConvBiasForward>(param, {x, maker.Constant(filter), maker.Constant(bias)});
}

PooledNet MakePooledNet(std::mt19937_64& random, PoolingMode mode, bool bytes) {
  GraphMaker maker;
  int x = maker.Input("x", {Pick(random, 1, 2), 3, Pick(random, 5, 20), Pick(random, 5, 9)});
  PooledNet net;
  const int input = x;
  if (bytes) x = maker.Add<TypeCvt>({kBytes.dtype, kBytes.scale, kBytes.zero_point}, {x});
  int first = -1;
  for (int i = 0; i < 2; ++i) {
    x = AddConvolution(maker, random, x, Pick(random, 4, 40), 3, 1);
    if (i == 0) first = x;
  }
  net.pooled = maker.var(x).type.shape;
  PoolingParam pool{.mode = mode, .window_h = net.pooled[2], .window_w = net.pooled[3]};
  if (bytes && mode != PoolingMode::kMax) pool.output = {DType::kQuantizedS8, 0.01, -4};
  x = maker.Add<PoolingForward>(pool, {x});
  maker.Output(x);
  const auto id = [&](int var) { return net.graph.node(net.graph.var(var).producer).id; };
  net.graph = std::move(maker).Build();
  net.from = id(input), net.again = id(first), net.to = id(x);
  return net;
}

// A pool that ends a segment of strips adds what arrives: the image in front of it never exists.
TEST(TileTest, PoolsOfWholeImagesJoinStrips) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    const auto mode = static_cast<PoolingMode>(seed % 3);
    const bool bytes = seed % 2 == 0;
    const PooledNet net = MakePooledNet(random, mode, bytes);
    const HostTensor input = RandomInput(random, net.graph);
    const int64_t rows = input.shape()[2];
    TileSegment segment{net.from, net.to, TileKind::kLines, Pick(random, 2, rows), 1, {}};
    if (Pick(random, 0, 1) == 1) segment.kind = TileKind::kRolling;
    if (Pick(random, 0, 1) == 1) segment.again = {net.again};
    TileSpec spec = {{segment}};
    if (input.shape()[0] == 2 && Pick(random, 0, 1) == 1) {
      spec = {{{net.from, net.to, TileKind::kBatch, 2, 1, {segment}}}};
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed, " tiles ", spec.ToString()));
    const Graph tiled = Value(TileInOrder(net.graph, spec));
    int joined = 0;
    for (const OperatorNode& node : tiled.nodes()) joined += node.op->type() == "PoolingRows";
    EXPECT_GE(joined, segment.count - 1);
    for (const Var& var : tiled.vars()) EXPECT_FALSE(var.type.shape == net.pooled) << var.name;
    if (bytes || mode == PoolingMode::kMax) {
      EXPECT_EQ(Differences(net.graph, spec, input), 0);
    } else {  // each strip rounds its sum to Float32
      EXPECT_LE(testing::RelativeError(Value(testing::Evaluate(tiled, input))[0],
                                       Value(testing::Evaluate(net.graph, input))[0]),
                1e-6);
    }
  }
}

// A classifier of 8 bits adds what arrives as integers, if the device has kernels for that.
// Regression: GPUs, which have none, were given such tiles.
TEST(TileTest, ClassifiersOfBytesJoinStripsIfTheDeviceAddsThem) {
  std::mt19937_64 random(5);
  GraphMaker maker;
  const int input = maker.Input("x", {1, 3, 8, 8});
  int x = maker.Add<TypeCvt>({kBytes.dtype, kBytes.scale, kBytes.zero_point}, {input});
  x = AddConvolution(maker, random, x, 6, 3, 1);
  x = AddConvolution(maker, random, x, 10, 8, 0);
  maker.Output(x);
  const Graph graph = std::move(maker).Build();
  const auto id = [&](int var) { return graph.node(graph.var(var).producer).id; };
  const TileSpec spec = {{{id(input), id(x), TileKind::kLines, 4, 1, {}}}};
  for (const bool adds : {true, false}) {
    const Graph tiled = Value(Tile(graph, spec, NodesInOrder(graph), Operators(), nullptr, adds));
    const auto is_unfinished = [&](const Var& var) {
      return var.type.dtype == DType::kQuantizedS32 &&
             tiled.node(var.producer).op->role() == Role::kCompute;
    };
    const auto unfinished = std::count_if(tiled.vars().begin(), tiled.vars().end(), is_unfinished);
    EXPECT_EQ(unfinished > 0, adds) << unfinished;
  }
  EXPECT_EQ(Differences(graph, spec, RandomInput(random, graph)), 0);
}

TEST(TileTest, RowsThatAreComputedAgainAreNotKept) {
  std::mt19937_64 random(3);
  const PooledNet net = MakePooledNet(random, PoolingMode::kMax, false);
  const auto text = [&](const char* again) {
    return absl::StrCat(net.from, "-", net.to, ":lines5", again);
  };
  const auto copies = [&](const std::string& spec) {  // of rows, from strip to strip
    const Graph tiled = Value(TileInOrder(net.graph, Value(TileSpec::Parse(spec))));
    return std::count_if(tiled.vars().begin(), tiled.vars().end(),
                         [](const Var& var) { return var.name.ends_with(":halo"); });
  };
  EXPECT_GT(copies(text("")), 0);
  EXPECT_EQ(copies(text(absl::StrCat("~", net.again).c_str())), 0);
  const auto refused = [&](int id) {
    const TileSpec spec = Value(TileSpec::Parse(text(absl::StrCat("~", id).c_str())));
    return std::string(TileInOrder(net.graph, spec).status().message());
  };
  EXPECT_THAT(refused(net.to), HasSubstr("is read outside of it"));
  EXPECT_THAT(refused(net.from), HasSubstr("is not in it"));
  EXPECT_THAT(refused(9999), HasSubstr("operator 9999, to be computed again, is not in it"));
}

// A reader of every second row: until it reads, the narrow rows wait instead of the wide ones.
TEST(TileTest, WideRowsAreComputedWhenTheyAreRead) {
  constexpr int64_t kSide = 16;
  std::mt19937_64 random(5);
  for (const int64_t wide : {24, 4}) {
    GraphMaker maker;
    const int input = maker.Input("x", {1, 3, kSide, kSide});
    const auto add = [&](int x, int64_t made, int64_t window, int64_t stride, const char* name) {
      const int64_t channels = maker.var(x).type.shape[1];
      ConvBiasParam param;
      param.pad_h = param.pad_w = window / 2;
      param.stride_h = param.stride_w = stride;
      const int filter = maker.Constant(RandomTensor(random, {made, channels, window, window}));
      const int bias = maker.Constant(RandomTensor(random, {1, made, 1, 1}));
      return maker.Add<ConvBiasForward>(param, {x, filter, bias}, name);
    };
    const int narrow = add(input, 4, 3, 1, "narrow"), expand = add(narrow, wide, 1, 1, "expand");
    const int last = add(expand, 4, 3, 2, "last");
    maker.Output(last);
    const Graph graph = std::move(maker).Build();
    const auto id = [&](int var) { return graph.node(graph.var(var).producer).id; };
    const TileSpec spec = {{{id(input), id(last), TileKind::kLines, kSide, 1, {}}}};
    const Graph tiled = Value(TileInOrder(graph, spec));
    const auto count = [&](const char* name) {
      return std::count_if(tiled.nodes().begin(), tiled.nodes().end(), [&](const auto& node) {
        return node.op->type() == "ConvBiasForward" && node.name.starts_with(name);
      });
    };
    EXPECT_GE(count("narrow"), kSide);
    EXPECT_EQ(count("expand"), wide > 8 ? count("last") : count("narrow"));
    EXPECT_LE(count("last"), kSide / 2 + 1);
    EXPECT_EQ(Differences(graph, spec, RandomInput(random, graph)), 0);
  }
}

TEST(TileTest, SegmentsOfOneGraphAreIndependent) {
  std::mt19937_64 random(7);
  GraphMaker maker;
  int x = maker.Input("x", {2, 3, 16, 16});
  for (int i = 0; i < 4; ++i) {
    const int64_t channels = maker.var(x).type.shape[1];
    const int filter = maker.Constant(RandomTensor(random, {4, channels, 3, 3}));
    const int bias = maker.Constant(RandomTensor(random, {1, 4, 1, 1}));
    ConvBiasParam param;
    param.pad_h = param.pad_w = 1;
    x = maker.Add<ConvBiasForward>(param, {x, filter, bias});
  }
  maker.Output(x);
  const Graph graph = std::move(maker).Build();
  std::vector<int> convs;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() == Role::kCompute) convs.push_back(node.id);
  }
  const TileSpec spec = Value(TileSpec::Parse(absl::StrCat(
      graph.node(0).id, "-", convs[1], ":lines16;", convs[1], "-", convs[3], ":grid3x2")));
  EXPECT_EQ(Differences(graph, spec, RandomInput(random, graph)), 0);
  const Graph tiled = Value(TileInOrder(graph, spec));
  EXPECT_GT(tiled.nodes().size(), 2 * 16u + 2 * 6u);
}

// An operator of the same name that forwards every call.
template <typename Op>
class Wrapped : public Operator {
 public:
  explicit Wrapped(typename Op::Param param) : op_(param) {}
  absl::string_view type() const override { return op_.type(); }
  std::string base_name() const override { return op_.base_name(); }
  ParamList params() const override { return op_.params(); }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> i) const override {
    return op_.Infer(i);
  }
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor> i) const override {
    return op_.Evaluate(i);
  }
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override {
    return op_.InputRegions(output, site);
  }
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      const Site& site) const override {
    return op_.AtRegion(output, given, site);
  }

 private:
  const Op op_;
};

// A pool whose divisor counts elements outside of its tile as padding.
class WrongDivisor final : public Wrapped<PoolingForward> {
 public:
  using Wrapped::Wrapped;
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      const Site& site) const override {
    std::optional<Replacement> at = Wrapped::AtRegion(output, given, site);
    PoolingParam param = static_cast<const PoolingForward&>(*at->op).param();
    param.mode = PoolingMode::kAverage;
    at->op = std::make_shared<const PoolingForward>(param);
    return at;
  }
};

// A convolution that puts zeros beyond the end of its tile.
class NoHalo final : public Wrapped<ConvBiasForward> {
 public:
  using Wrapped::Wrapped;
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override {
    std::optional<std::vector<Region>> regions = Wrapped::InputRegions(output, site);
    (*regions)[0][2] = output[2];
    return regions;
  }
};

TEST(TileTest, AWrongDivisorIsSeen) {
  for (const bool wrong : {false, true}) {
    GraphMaker maker;
    const int x = maker.Input("x", {1, 2, 9, 9});
    PoolingParam param{.mode = PoolingMode::kAverageCountExcludePadding,
                       .window_h = 3,
                       .window_w = 3,
                       .stride_h = 1,
                       .stride_w = 1,
                       .pad_h = 1,
                       .pad_w = 1};
    OperatorPtr op = std::make_shared<const PoolingForward>(param);
    if (wrong) op = std::make_shared<const WrongDivisor>(param);
    maker.Output(maker.Add(op, {x}));
    const Graph graph = std::move(maker).Build();
    std::mt19937_64 random(1);
    const TileSpec spec =
        Value(TileSpec::Parse(absl::StrCat(graph.node(0).id, "-", graph.node(1).id, ":rows3")));
    EXPECT_EQ(Differences(graph, spec, RandomInput(random, graph)) > 0, wrong);
  }
}

// The needed region of x is the hull over both readers. Without the convolution's share the sum is
// still right and the convolution is not.
TEST(TileTest, AMissingHaloAtAJoinIsSeen) {
  for (const bool wrong : {false, true}) {
    std::mt19937_64 random(1);
    GraphMaker maker;
    const int input = maker.Input("x", {1, 2, 12, 5});
    const int x = maker.Add<Elemwise>({ScalarFunction::kNegate}, {input});
    ConvBiasParam param;
    param.pad_h = param.pad_w = 1;
    OperatorPtr op = std::make_shared<const ConvBiasForward>(param);
    if (wrong) op = std::make_shared<const NoHalo>(param);
    const int filter = maker.Constant(RandomTensor(random, {2, 2, 3, 3}));
    const int bias = maker.Constant(RandomTensor(random, {1, 2, 1, 1}));
    const int y = maker.Add(op, {x, filter, bias});
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kAdd}, {y, x}));
    const Graph graph = std::move(maker).Build();
    const int last = graph.node(graph.var(graph.outputs()[0].var).producer).id;
    for (const char* kind : {"rows4", "lines4"}) {
      const TileSpec spec =
          Value(TileSpec::Parse(absl::StrCat(graph.node(0).id, "-", last, ":", kind)));
      EXPECT_EQ(Differences(graph, spec, RandomInput(random, graph)) > 0, wrong) << kind;
    }
  }
}

// Regression: parts of tensors of two and three dimensions were read beyond their regions.
TEST(TileTest, PaddedTensorsOfAnyRankAreCutIntoImages) {
  for (const Shape& shape :
       {Shape{3, 4}, Shape{3, 4, 5}, Shape{3, 4, 5, 2}, Shape{3, 2, 4, 3, 2}}) {
    SCOPED_TRACE(shape.ToString());
    GraphMaker maker;
    int x = maker.Input("x", shape);
    for (const int64_t shift : {1, 2}) {
      PadParam param;
      param.begin.assign(static_cast<size_t>(shape.rank()), 0);
      param.end = param.begin;
      param.begin.back() = shift;
      param.end.back() = -shift;
      param.begin[1] = -1;
      param.end[1] = 1;
      x = maker.Add<Elemwise>({ScalarFunction::kMul}, {x, maker.Add<Pad>(param, {x})});
    }
    maker.Output(x);
    const Graph graph = std::move(maker).Build();
    const int last = graph.node(graph.var(graph.outputs()[0].var).producer).id;
    const TileSpec spec =
        Value(TileSpec::Parse(absl::StrCat(graph.node(0).id, "-", last, ":batch3")));
    std::mt19937_64 random(1);
    EXPECT_EQ(Differences(graph, spec, RandomInput(random, graph)), 0);
  }
}

TEST(TileTest, WhatCannotBeTiledIsNamed) {
  GraphMaker maker;
  const int x = maker.Input("x", {2, 3, 8, 8});
  const int y = maker.Add<Elemwise>({ScalarFunction::kRelu}, {x}, "relu");
  const int z = maker.Add<Softmax>({.axis = 2}, {y}, "softmax");
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kAbs}, {z}, "abs"));
  const Graph graph = std::move(maker).Build();
  const auto id = [&](const char* name) {
    for (const OperatorNode& node : graph.nodes()) {
      if (node.name == name) return node.id;
    }
    return -1;
  };
  const auto error = [&](const std::string& spec) {
    return std::string(TileInOrder(graph, Value(TileSpec::Parse(spec))).status().message());
  };
  const std::string all = absl::StrCat(id("x"), "-", id("abs"));
  EXPECT_THAT(error(all + ":rows2"), HasSubstr("softmax (Softmax"));
  EXPECT_EQ(error(all + ":batch2"), "");
  EXPECT_THAT(error(all + ":batch3"), HasSubstr("3 parts of 2 images"));
  EXPECT_THAT(error(absl::StrCat(id("x"), "-", id("relu"), ":rows9")),
              HasSubstr("9 parts of 8 rows"));
  EXPECT_THAT(error(absl::StrCat(id("abs"), "-", id("relu"), ":rows2")),
              HasSubstr("does not depend on"));
  EXPECT_THAT(error("9999-1:rows2"), HasSubstr("no operator 9999"));
  EXPECT_THAT(error(absl::StrCat(all, ":batch2;", id("x"), "-", id("relu"), ":rows2")),
              HasSubstr("is in tile segment"));
}

}  // namespace
}  // namespace ashlar
