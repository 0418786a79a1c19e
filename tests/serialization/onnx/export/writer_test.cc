#include "serialization/onnx/export/writer.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/integer_elemwise.h"
#include "serialization/npz.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
#include "tests/serialization/onnx/valid_model.h"
#include "tests/serialization/sample_graphs.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::ExpectValid;
using testing::GraphMaker;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ParseOnnx;
using testing::TempDir;
using testing::Value;

// If ASHLAR_ONNX_CASES names a folder, keeps the models there, with inputs and the outputs of host
// evaluation. scripts/check_onnx.py runs them in ONNX Runtime.
void KeepCase(const testing::SampleGraph& sample) {
  const char* folder = std::getenv("ASHLAR_ONNX_CASES");
  if (folder == nullptr) return;
  const std::string base = (std::filesystem::path(folder) / sample.name).string();
  std::mt19937_64 random(2);
  absl::flat_hash_map<std::string, HostTensor> values;
  NamedTensors inputs, outputs;
  for (const Binding& input : sample.graph.inputs()) {
    const HostTensor value =
        testing::RandomTensor(random, sample.graph.var(input.var).type.shape, -2, 4);
    values[input.name] = value;
    inputs.emplace_back(input.name, value);
  }
  const std::vector<HostTensor> results = Value(testing::EvaluateGraph(sample.graph, values));
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.emplace_back(absl::StrCat(i), results[i]);
  }
  ASSERT_TRUE(IsOk(WriteOnnx(sample.graph, base + ".onnx")));
  ASSERT_TRUE(IsOk(WriteNpz(inputs, base + ".inputs.npz")));
  ASSERT_TRUE(IsOk(WriteNpz(outputs, base + ".outputs.npz")));
}

TEST(OnnxWriter, WritesValidModelsOfEverySampleGraph) {
  TempDir dir;
  for (const testing::SampleGraph& sample : testing::SampleGraphs()) {
    SCOPED_TRACE(sample.name);
    ASSERT_TRUE(IsOk(WriteOnnx(sample.graph, dir / "m.onnx")));
    ExpectValid(ParseOnnx(dir / "m.onnx"));
    KeepCase(sample);
  }
}

// Returns nodes from x, Float32 {1,2,4,4}, to y.
Graph GraphOf(const TempDir& dir, const std::string& nodes, int version = 19) {
  testing::WriteWholeFile(dir / "given.onnx",
                          testing::Serialized(testing::ModelText(nodes, version)));
  return Value(ReadOnnx(dir / "given.onnx"));
}

// Expects the written model to compute the same; returns it.
onnx::ModelProto ExpectSameValues(const Graph& graph, const TempDir& dir) {
  EXPECT_TRUE(IsOk(WriteOnnx(graph, dir / "m.onnx")));
  std::mt19937_64 random(3);
  const HostTensor x = testing::RandomTensor(random, {1, 2, 4, 4}, -2, 2);
  const std::vector<HostTensor> expected = Value(testing::EvaluateGraph(graph, {{"x", x}}));
  const Graph again = Value(ReadOnnx(dir / "m.onnx"));
  const std::vector<HostTensor> actual = Value(testing::EvaluateGraph(again, {{"x", x}}));
  EXPECT_LT(testing::RelativeError(actual[0], expected[0]), 1e-6);
  return ParseOnnx(dir / "m.onnx");
}

// ONNX Runtime refuses pools whose padding is as wide as the window, as with ceil_mode and
// dilations.
TEST(OnnxWriter, PoolsHaveLessPaddingThanTheirWindow) {
  TempDir dir;
  for (const char* const type : {"AveragePool", "MaxPool"}) {
    for (const int64_t counted : {0, 1}) {
      if (counted == 1 && absl::string_view(type) == "MaxPool") continue;
      for (const int64_t kernel : {2, 3}) {
        SCOPED_TRACE(absl::StrCat(type, " ", counted, " ", kernel));
        std::string nodes = absl::StrCat("node { op_type: '", type, "' input: 'x' output: 'y' ",
                                         testing::IntsAttribute("kernel_shape", {kernel, 2}),
                                         testing::IntsAttribute("dilations", {1, 3}),
                                         testing::IntsAttribute("strides", {2, 3}),
                                         testing::IntsAttribute("pads", {1, 1, 1, 1}),
                                         "attribute { name: 'ceil_mode' type: INT i: 1 } ");
        if (counted == 1) {
          absl::StrAppend(&nodes, "attribute { name: 'count_include_pad' type: INT i: 1 } ");
        }
        const onnx::ModelProto model = ExpectSameValues(GraphOf(dir, nodes + "}"), dir);
        for (const onnx::NodeProto& node : model.graph().node()) {
          if (node.op_type() != type) continue;
          for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.name() != "pads") continue;
            for (int i = 0; i < attribute.ints_size(); ++i) {
              EXPECT_LT(attribute.ints(i), i % 2 == 0 ? kernel : 2);
            }
          }
        }
      }
    }
  }
}

TEST(OnnxWriter, RowsThatNothingReachesAreZerosAround) {
  TempDir dir;
  const std::vector<std::vector<int64_t>> all = {{11, 13}, {9, 12}, {9, 9}, {8, 7}, {14, 10}};
  for (const std::vector<int64_t>& sizes : all) {
    SCOPED_TRACE(absl::StrCat(sizes[0], " x ", sizes[1]));
    const std::string nodes =
        absl::StrCat("initializer { name: 'w' data_type: 1 dims: [2, 1, 3, 3] float_data: [",
                     absl::StrJoin(std::vector<double>(18, 0.5), ","), "] } ",
                     "node { op_type: 'ConvTranspose' input: ['x', 'w'] output: 'y' ",
                     testing::IntsAttribute("strides", {2, 2}),
                     testing::IntsAttribute("output_shape", sizes), "}");
    ExpectSameValues(GraphOf(dir, nodes), dir);
  }
}

// Operator sets from 13 on have no tf_half_pixel_for_nn: the nearest elements are gathered instead.
TEST(OnnxWriter, NearestElementsAreGatheredWhereOnnxLacksTheirCoordinates) {
  TempDir dir;
  const std::vector<std::vector<double>> all = {{2, 2}, {1.5, 0.5}, {0.6, 2.6}, {1, 3}};
  for (const std::vector<double>& scales : all) {
    SCOPED_TRACE(absl::StrJoin(scales, " x "));
    const std::string nodes = absl::StrCat(
        "initializer { name: 's' data_type: 1 dims: 4 float_data: [1, 1, ",
        absl::StrJoin(scales, ","), "] } initializer { name: 'r' data_type: 1 dims: 0 } ",
        "node { op_type: 'Resize' input: ['x', 'r', 's'] output: 'y' ",
        "attribute { name: 'coordinate_transformation_mode' type: STRING ",
        "s: 'tf_half_pixel_for_nn' } ",
        "attribute { name: 'nearest_mode' type: STRING s: 'floor' } }");
    ExpectSameValues(GraphOf(dir, nodes, 11), dir);
  }
}

// ONNX Runtime would round a float filter between integers to 8 bits.
TEST(OnnxWriter, FiltersOfFloatsDoNotFollowDequantizeLinear) {
  TempDir dir;
  const std::string nodes = absl::StrCat(
      R"(initializer { name: 's' data_type: 1 float_data: 0.02 }
         initializer { name: 'z' data_type: 2 int32_data: 128 }
         initializer { name: 'b' data_type: 6 dims: 1 int32_data: 7 }
         initializer { name: 'bs' data_type: 1 float_data: 0.0006 }
         initializer { name: 'ws' data_type: 1 float_data: 0.01 }
         initializer { name: 'w' data_type: 3 dims: [1, 2, 2, 2] int32_data: [)",
      absl::StrJoin(std::vector<int>(8, 9), ","), R"(] }
         node { op_type: 'QuantizeLinear' input: ['x', 's', 'z'] output: 'q' }
         node { op_type: 'DequantizeLinear' input: ['q', 's', 'z'] output: 'd' }
         node { op_type: 'DequantizeLinear' input: ['w', 'ws'] output: 'wd' }
         node { op_type: 'DequantizeLinear' input: ['b', 'bs'] output: 'bd' }
         node { op_type: 'Conv' input: ['d', 'wd', 'bd'] output: 'c' }
         node { op_type: 'QuantizeLinear' input: ['c', 's', 'z'] output: 'yq' }
         node { op_type: 'DequantizeLinear' input: ['yq', 's', 'z'] output: 'y' })");
  const onnx::ModelProto model = ExpectSameValues(GraphOf(dir, nodes), dir);
  std::map<std::string, std::string> makers;
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "Conv") {
      EXPECT_EQ(makers[node.input(0)], "Concat");
    }
    makers[node.output(0)] = node.op_type();
  }
}

TEST(OnnxWriter, KeepsTheNamesOfInputsAndOutputs) {
  GraphMaker maker;
  const int x = maker.Input("data", {2, 3});
  const int relu = maker.Add<Elemwise>({ScalarFunction::kRelu}, {x}, "prob");
  maker.Output(relu);
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kExp}, {relu}, "exp"));
  TempDir dir;
  ASSERT_TRUE(IsOk(WriteOnnx(std::move(maker).Build(), dir / "m.onnx")));
  const onnx::ModelProto model = ParseOnnx(dir / "m.onnx");
  ASSERT_EQ(model.graph().input_size(), 1);
  ASSERT_EQ(model.graph().output_size(), 2);
  EXPECT_EQ(model.graph().input(0).name(), "data");
  EXPECT_EQ(model.graph().output(0).name(), "prob");
  EXPECT_EQ(model.graph().output(1).name(), "exp");
  EXPECT_EQ(model.graph().node(1).input(0), "prob");
}

// Regression: operators that only forward their input took its name away. Its other readers, and
// the graph's output, then referred to nothing.
TEST(OnnxWriter, KeepsValuesThatOperatorsHandOn) {
  GraphMaker maker;
  const int x = maker.Input("x", {2, 3});
  const int y = maker.Add<Elemwise>({ScalarFunction::kExp}, {x}, "y");
  const int same = maker.Add<Dimshuffle>({{0, 1}}, {y}, "same");
  const int again = maker.Add<Dimshuffle>({{0, 1}}, {same}, "again");
  const int sum = maker.Add<Elemwise>({ScalarFunction::kAdd}, {y, again}, "sum");
  for (const int var : {y, same, again, sum}) maker.Output(var);
  TempDir dir;
  ASSERT_TRUE(IsOk(WriteOnnx(std::move(maker).Build(), dir / "m.onnx")));
  ExpectValid(ParseOnnx(dir / "m.onnx"));
}

TEST(OnnxWriter, NamesAllThatIsUnsupportedAtOnceAndKeepsTheOldFile) {
  GraphMaker maker;
  const auto ints = [&](DType dtype) { return maker.Constant(HostTensor::Zeros(dtype, {2})); };
  const int a = ints(DType::kInt32), b = ints(DType::kInt8);
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kFuseAddRelu}, {a, a}, "first"));
  maker.Output(maker.Add<IntegerElemwise>({IntegerFunction::kShiftRight}, {b, b}, "second"));
  TempDir dir;
  testing::WriteWholeFile(dir / "m.onnx", "old");
  const absl::Status status = WriteOnnx(std::move(maker).Build(), dir / "m.onnx");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  for (const char* part : {"m.onnx", "2 operators", "first (Elemwise", "FUSE_ADD_RELU of Int32",
                           "second (IntegerElemwise", "SHIFT_RIGHT of Int8",
                           "before operator set 28 BitShift is of unsigned integers"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(testing::ReadWholeFile(dir / "m.onnx"), "old");
}

TEST(OnnxWriter, RefusesAModelBeyondTwoGiB) {
  GraphMaker maker;
  // Never read: only its size matters.
  const Shape shape = {1 << 15, 1 << 15};
  const auto nothing = std::make_shared<int>();
  maker.Output(maker.Constant(HostTensor::Borrow(DType::kFloat32, shape, nothing, nothing.get())));
  TempDir dir;
  EXPECT_TRUE(testing::FailsWith(WriteOnnx(std::move(maker).Build(), dir / "m.onnx"),
                                 "at most 2147483647"));
}

}  // namespace
}  // namespace ashlar
