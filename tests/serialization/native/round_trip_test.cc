#include <algorithm>
#include <map>
#include <set>

#include "graph/graph_builder.h"
#include "opr/conv_bias.h"
#include "opr/counted.h"
#include "opr/elemwise.h"
#include "opr/elemwise_chain.h"
#include "opr/integer_elemwise.h"
#include "opr/matrix_mul_bias.h"
#include "opr/resize_bytes.h"
#include "opr/update.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"
#include "tests/cases/case_graph.h"
#include "tests/serialization/files.h"
#include "tests/serialization/graph_equality.h"
#include "tests/serialization/sample_graphs.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar {
namespace {

using testing::ExpectSameGraph;
using testing::GraphMaker;
using testing::IsOk;
using testing::TempDir;
using testing::Value;

OperatorPtr Make(absl::string_view type, const ParamList& params) {
  return Value(Operators().Make(type, params));
}

HostTensor Ones(const Shape& shape) {
  const std::vector<float> ones(shape.num_elements(), 1);
  return HostTensor::FromValues<float>(DType::kFloat32, shape, ones);
}

// Returns operators that only passes make: they occur in files of packed models, and in no other
// format.
Graph MadeByPasses() {
  GraphMaker maker;
  const int x = maker.Input("x", {2, 4});
  MatrixMulBiasParam product;
  product.transposeB = product.relu = true;
  const int y = maker.Add<MatrixMulBias>(
      product, {x, maker.Constant(Ones({3, 4})), maker.Constant(Ones({3}))});
  maker.Output(maker.Add<ElemwiseChain>({{0, 10}, {-1, 1}, {-1, -1}, {-1, -1}},
                                        {y, maker.Constant(Ones({3}))}));
  return std::move(maker).Build();
}

// Returns every function of integers, and operators of counts; their cases have no floats.
Graph OfIntegers() {
  GraphMaker maker;
  int x = maker.Input("x", {4}, DType::kInt64);
  const int y = maker.Input("y", {4}, DType::kUint8);
  for (size_t mode = 0; mode < std::size(kIntegerFunctionNames); ++mode) {
    x = maker.Add<IntegerElemwise>({static_cast<IntegerFunction>(mode)}, {x, y});
  }
  const int count = maker.Input("count", {}, DType::kInt64);
  const int checked = maker.Add<CheckCount>({true, "counts"}, {count, count});
  x = maker.Add<IndicesWithin>({0}, {x, checked, count});
  maker.Output(x);
  return std::move(maker).Build();
}

// Returns a state with its first value, and an update of it.
Graph WithState() {
  GraphMaker maker;
  const int x = maker.Input("x", {4});
  const int w = maker.Add(Operators().MakeState(Ones({4})), {}, "w");
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kMul}, {x, w}));
  maker.Add<AddUpdate>({1, 1, 0}, {w, x});
  return std::move(maker).Build();
}

// Every operator, with each set of parameters in its cases.
TEST(NativeRoundTrip, KeepsEveryOperator) {
  TempDir dir;
  std::set<std::string> operators, types;
  std::map<std::string, std::string> by_bytes;
  testing::ForEachCaseGraph(
      34, [&](const testing::KernelCase& test, const testing::CaseGraph& whole) {
        const std::string text = absl::StrCat(test.op->type(), " ", ToString(test.op->params()));
        if (!operators.insert(text).second) return;
        SCOPED_TRACE(text);
        types.insert(std::string(test.op->type()));
        std::string bytes = absl::StrCat(test.op->type(), " ");
        test.op->AppendParams(bytes);
        EXPECT_EQ(by_bytes.try_emplace(bytes, text).first->second, text);
        ASSERT_TRUE(IsOk(WriteModel(whole.graph, dir / "m.ash")));
        ExpectSameGraph(whole.graph, Value(ReadModel(dir / "m.ash")));
      });
  types.insert("SharedDeviceTensor");  // WithState
  types.insert("ElemwiseMultiType");   // Quantized
  types.insert("ResizeBytes");
  types.insert("IntegerElemwise");  // OfIntegers
  types.insert("CheckCount");
  types.insert("IndicesWithin");
  for (const auto& [name, graph] : testing::SampleGraphs()) {
    for (const OperatorNode& node : graph.nodes()) types.insert(std::string(node.op->type()));
  }
  for (const OperatorRow& row : OperatorRows()) {
    EXPECT_TRUE(types.contains(row.type)) << "no case and no sample graph has a " << row.type;
  }
}

// Returns 8-bit integers between floats, with a weight scale per channel.
Graph Quantized() {
  GraphBuilder builder;
  const std::vector<int> x =
      Value(builder.Add(Make("Host2DeviceCopy", {{"dtype", std::string("Float32")},
                                                 {"shape", std::vector<int64_t>{1, 2, 3, 3}}}),
                        {}));
  const ParamList type = {
      {"dtype", std::string("QuantizedS8")}, {"scale", 0.5}, {"zero_point", int64_t{-3}}};
  const std::vector<int> q = Value(builder.Add(Make("TypeCvt", type), x));
  const HostTensor filter = HostTensor::Zeros(DType::kInt8, {2, 2, 1, 1});
  const HostTensor bias = HostTensor::Zeros(DType::kInt32, {1, 2, 1, 1});
  const auto quantized = [](DType dtype, std::vector<float> scales) {
    return Value(Quantization::Make(dtype, std::move(scales)));
  };
  const std::vector<int> w =
      Value(builder.Add(Operators().MakeConstant(filter.As(
                            DType::kQuantizedS8, quantized(DType::kQuantizedS8, {0.25f, 2}))),
                        {}));
  const std::vector<int> b =
      Value(builder.Add(Operators().MakeConstant(bias.As(
                            DType::kQuantizedS32, quantized(DType::kQuantizedS32, {0.125f, 1}))),
                        {}));
  ConvBiasParam param;
  param.output = {DType::kQuantized8Asymm, 0.75, 200};
  const std::vector<int> y =
      Value(builder.Add(std::make_shared<const ConvBiasForward>(param), {q[0], w[0], b[0]}));
  const std::vector<int> z =
      Value(builder.Add(Make("ElemwiseMultiType", {{"mode", std::string("SIGMOID")},
                                                   {"output_dtype", std::string("QuantizedS8")},
                                                   {"scale", 0.5}}),
                        y));
  HostTensor size = HostTensor::Zeros(DType::kInt64, {2});
  for (int64_t axis = 0; axis < 2; ++axis) size.Set(axis, 7);
  const std::vector<int> target = Value(builder.Add(Operators().MakeConstant(size), {}));
  ResizeParam resize;
  resize.axes = {2, 3};
  resize.mode = ResizeMode::kLinear;
  const std::vector<int> large =
      Value(builder.Add(std::make_shared<const ResizeBytes>(resize), {z[0], target[0]}));
  Value(builder.Add(Make("OutputCallback", {}), large));
  return Value(std::move(builder).Build());
}

TEST(NativeRoundTrip, KeepsQuantizedTypes) {
  TempDir dir;
  const Graph graph = Quantized();
  ASSERT_TRUE(IsOk(WriteModel(graph, dir / "m.ash")));
  const Graph read = Value(ReadModel(dir / "m.ash"));
  ExpectSameGraph(graph, read);
  for (size_t i = 0; i < graph.vars().size(); ++i) {
    EXPECT_EQ(read.var(static_cast<int>(i)).type, graph.var(static_cast<int>(i)).type);
  }
  EXPECT_EQ(read.var(1).type.ToString(), "QuantizedS8(0.5,-3){1,2,3,3}");
  EXPECT_EQ(read.var(1).type.bytes(), 18);
}

TEST(NativeRoundTrip, KeepsEverySampleGraph) {
  TempDir dir;
  for (const auto& [name, graph] : testing::SampleGraphs()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(IsOk(WriteModel(graph, dir / "m.ash")));
    ExpectSameGraph(graph, Value(ReadModel(dir / "m.ash")));
  }
  for (const Graph& made : {MadeByPasses(), OfIntegers()}) {
    ASSERT_TRUE(IsOk(WriteModel(made, dir / "m.ash")));
    ExpectSameGraph(made, Value(ReadModel(dir / "m.ash")));
  }
}

TEST(NativeRoundTrip, KeepsTheFirstValueOfAState) {
  TempDir dir;
  const Graph graph = WithState();
  ASSERT_TRUE(IsOk(WriteModel(graph, dir / "m.ash")));
  ModelFile file;
  const Graph read = Value(ReadModel(dir / "m.ash", &file));
  ExpectSameGraph(graph, read);
  EXPECT_TRUE(IsOk(CheckWeights(file)));
  for (const OperatorNode& node : read.nodes()) {
    if (node.op->role() != Role::kState) continue;
    const HostTensor first = Value(node.op->Evaluate({}))[0];
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(first.At(i), 1);
  }
}

TEST(NativeRoundTrip, KeepsEveryField) {
  GraphBuilder builder(CompNode{CompNode::Type::kCpu, 1, 2}, 100);
  GraphBuilder::NodeOptions options;
  options.name = "data \"quoted\"\n<script>";
  options.id = 7;
  options.output_ids = {3};
  options.output_names = {"data:0"};
  options.priority = -5;
  options.binding = "image";
  const ParamList input = {{"dtype", std::string("Float32")},
                           {"shape", std::vector<int64_t>{2, 17, 3, 3}}};
  const std::vector<int> x = Value(builder.Add(Make("Host2DeviceCopy", input), {}, options));
  options = {};
  options.output_formats = {Format::kNCHW16c};
  const std::vector<int> blocked =
      Value(builder.Add(Operators().MakeRelayout(Format::kNCHW16c), x, options));
  for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{0, 4}}) {
    Value(builder.Add(Operators().MakeConstant(Ones(shape)), {}));
  }
  Value(builder.Add(Make("OutputCallback", {}), blocked));
  const Graph graph = Value(std::move(builder).Build());

  TempDir dir;
  ASSERT_TRUE(IsOk(WriteModel(graph, dir / "m.ash")));
  ModelFile file;
  ExpectSameGraph(graph, Value(ReadModel(dir / "m.ash", &file)));
  EXPECT_EQ(file.weights_bytes, 64 + 64);
}

TEST(NativeRoundTrip, StoresEqualConstantsOnceAndAligned) {
  GraphMaker maker;
  const int a = maker.Constant(Ones({10}));
  const int b = maker.Constant(Ones({2, 5}));
  const int c = maker.Constant(Ones({11}));
  maker.Output(c);
  TempDir dir;
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), dir / "m.ash")));
  ModelFile file;
  const Graph read = Value(ReadModel(dir / "m.ash", &file));
  EXPECT_EQ(file.weights_bytes, 128);
  EXPECT_EQ(read.constant(a)->raw(), read.constant(b)->raw());
  EXPECT_NE(read.constant(a)->raw(), read.constant(c)->raw());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.constant(c)->raw()) % 64, 0u);
}

TEST(NativeRoundTrip, ConstantsOutliveTheReaderAndDroppedPages) {
  GraphMaker maker;
  maker.Output(maker.Constant(Ones({1000})));
  TempDir dir;
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), dir / "m.ash")));
  ModelFile file;
  const Graph read = Value(ReadModel(dir / "m.ash", &file));
  file.mapping->DropResidentPages();
  file = {};
  EXPECT_EQ(read.constant(0)->At(999), 1);
}

TEST(NativeRoundTrip, OverwritesTheFileThatAGraphIsMappedFrom) {
  TempDir dir;
  GraphMaker maker;
  maker.Output(maker.Constant(Ones({1000})));
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), dir / "m.ash")));
  const Graph first = Value(ReadModel(dir / "m.ash"));
  ASSERT_TRUE(IsOk(WriteModel(first, dir / "m.ash")));
  ExpectSameGraph(first, Value(ReadModel(dir / "m.ash")));
}

TEST(NativeWriter, RefusesAConstantWithoutData) {
  GraphMaker maker;
  maker.Output(maker.Constant(HostTensor::ShapeOnly(DType::kFloat32, {3})));
  TempDir dir;
  EXPECT_EQ(WriteModel(std::move(maker).Build(), dir / "m.ash").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(dir.count(), 0u);
}

}  // namespace
}  // namespace ashlar
