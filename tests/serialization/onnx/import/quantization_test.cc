// Quantised ONNX models, to the bit: golden data of integer references.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/tiling/tiled_plan.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "serialization/crc32.h"
#include "serialization/npz.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Tensors = absl::flat_hash_map<std::string, HostTensor>;

Tensors ReadArrays(const std::string& path) {
  const NamedTensors arrays = Value(ReadNpz(path));
  return {arrays.begin(), arrays.end()};
}

// Returns element `i` of the first axis.
HostTensor Slice(const HostTensor& all, int64_t i, const Shape& shape) {
  HostTensor slice = HostTensor::Zeros(all.dtype(), shape);
  const size_t bytes = static_cast<size_t>(slice.bytes());
  std::memcpy(slice.mutable_raw(), static_cast<const char*>(all.raw()) + i * bytes, bytes);
  return slice;
}

// Returns how many elements differ.
int64_t Differing(const HostTensor& got, const HostTensor& want) {
  EXPECT_EQ(got.dtype(), want.dtype());
  EXPECT_EQ(got.num_elements(), want.num_elements());
  if (got.num_elements() != want.num_elements()) return want.num_elements();
  int64_t count = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) count += got.At(i) != want.At(i);
  return count;
}

// Returns integers of a byte, or as many floats around 0; equal types give equal values.
HostTensor RandomBytes(const TensorType& type) {
  HostTensor tensor = HostTensor::Zeros(type.dtype, type.shape);
  std::mt19937 random(1);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const int byte = static_cast<int>(random() % 256);
    tensor.Set(i, IsFloat(type.dtype)           ? (byte - 128) / 32.0
                  : type.dtype == DType::kUint8 ? byte
                                                : byte - 128);
  }
  return tensor;
}

TEST(QuantizedOnnx, NodesGiveTheBitsOfTheReference) {
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/int8/nodes"))) {
    if (entry.path().extension() != ".onnx") continue;
    const std::string name = entry.path().stem();
    SCOPED_TRACE(name);
    ++cases;
    const Tensors arrays = ReadArrays(SharedData("data/int8/nodes/" + name + ".npz"));
    InputTensors inputs;
    for (const auto& [array, value] : arrays) {
      if (absl::StartsWith(array, "in_")) inputs[array.substr(3)] = value;
    }
    const HostTensor& want = arrays.at("reference");
    const Graph graph = Value(ReadOnnx(entry.path()));
    const std::vector<HostTensor> on_host =
        Value(EvaluateGraph(graph, {inputs.begin(), inputs.end()}));
    EXPECT_EQ(Differing(on_host[0], want), 0) << "on the host";
    EXPECT_EQ(Differing(LoadedModel(Value(ReadOnnx(entry.path()))).Run(inputs)[0], want), 0)
        << "on the CPU";
    // All inputs are known, so the values are folded to the same result.
    OnnxReadOptions known;
    known.values.insert(inputs.begin(), inputs.end());
    const Graph folded = Value(ReadOnnx(entry.path(), known));
    EXPECT_EQ(Differing(Value(EvaluateGraph(folded, {}))[0], want), 0) << "folded";
  }
  EXPECT_EQ(cases, 38);
}

TEST(QuantizedOnnx, DigitsGiveTheLogitsOfTheReference) {
  const Tensors arrays = ReadArrays(SharedData("data/int8/digits/digits.npz"));
  const HostTensor& images = arrays.at("test_images");
  const float mean = arrays.at("mean").data<float>()[0], std = arrays.at("std").data<float>()[0];
  for (const std::string type : {"u8", "s8"}) {
    SCOPED_TRACE(type);
    LoadedModel model(Value(ReadOnnx(SharedData("data/int8/digits/digits." + type + ".onnx"))));
    int64_t differing = 0;
    for (int64_t i = 0; i < (kSanitized ? 10 : images.shape()[0]); ++i) {
      HostTensor image = HostTensor::Zeros(DType::kFloat32, {1, 1, 8, 8});
      for (int64_t j = 0; j < 64; ++j) {
        const float pixel = static_cast<float>(images.At(i * 64 + j));
        image.mutable_data<float>()[j] = (pixel / 255 - mean) / std;
      }
      const HostTensor want = Slice(arrays.at("logits_" + type), i, {1, 10});
      differing += Differing(model.Run({{"x", image}})[0], want);
    }
    EXPECT_EQ(differing, 0) << "of 4500 logits";
  }
}

TEST(QuantizedOnnx, TinyModelsGiveTheBitsOfTheReference) {
  if (!HasSharedData("data/int8/tiny")) GTEST_SKIP() << "no ../shared/data/int8";
  const nlohmann::json layers =
      nlohmann::json::parse(ReadWholeFile(SharedData("data/int8/tiny/layers.json")))["models"];
  for (const std::string name : {"ad", "ic", "kws", "vww"}) {
    SCOPED_TRACE(name);
    const std::string path = SharedData("data/int8/tiny/" + name + ".onnx");
    const Tensors arrays = ReadArrays(SharedData("data/int8/tiny/" + name + ".npz"));
    const HostTensor& x = arrays.at("x");
    const Shape shape(x.shape().dims().subspan(1));
    LoadedModel model(Value(ReadOnnx(path)));
    for (int64_t i = 0; i < (kSanitized ? 1 : x.shape()[0]); ++i) {
      const HostTensor got = model.Run({{"x", Slice(x, i, shape)}})[0];
      for (const char* const reference : {"y_reference", "y_litert"}) {
        EXPECT_EQ(Differing(got, Slice(arrays.at(reference), i, got.shape())), 0)
            << reference << " of input " << i;
      }
    }
    OnnxReadOptions inner;
    for (const auto& [tensor, about] : layers[name].items()) {
      if (tensor != "x") inner.outputs.push_back(tensor);
    }
    LoadedModel all(Value(ReadOnnx(path, inner)));
    const std::vector<HostTensor> tensors = all.Run({{"x", Slice(x, 0, shape)}});
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string& tensor = all.graph().outputs()[i].name;
      EXPECT_EQ(Crc32(0, tensors[i].raw(), static_cast<size_t>(tensors[i].bytes())),
                layers[name][tensor]["crc32"].get<uint32_t>())
          << tensor;
    }
  }
}

// Requests three strips of the longest segment that can be tiled; no tiles if there is none.
PlanRequest InStrips(const std::string& path) {
  PlanRequest request;
  const Graph graph = Value(ReadOnnx(path));
  const std::vector<int> ids = Value(OrderBeforeTiles(graph, request.target, request.planning));
  for (size_t from = 0; from < ids.size(); ++from) {
    for (size_t to = ids.size(); to-- > from + 1;) {
      request.target.tiles = {{{ids[from], ids[to], TileKind::kRows, 3, 1, {}}}};
      if (PlanGraph(graph, request).ok()) return request;
    }
  }
  return PlanRequest();
}

TEST(QuantizedOnnx, TilesAndThreadsGiveTheSameBits) {
  cpu::RegisterDevice();
  for (const std::string name : {"conv_extreme", "depthwise_5x5_stride2"}) {
    const std::string path = SharedData("data/int8/nodes") + "/" + name;
    const Tensors arrays = ReadArrays(path + ".npz");
    PlanRequest threads;
    threads.target.threads = 2;
    const PlanRequest strips = InStrips(path + ".onnx");
    EXPECT_TRUE(strips.target.tiled()) << name;
    for (const PlanRequest& request : {threads, strips}) {
      LoadedModel model(Value(ReadOnnx(path + ".onnx")), request);
      EXPECT_EQ(Differing(model.Run({{"x", arrays.at("in_x")}})[0], arrays.at("reference")), 0)
          << name;
    }
  }
}

// Returns how many operators of each type make quantised tensors, not counting conversions.
std::map<std::string, int> OperatorsOfIntegers(const Graph& graph) {
  std::map<std::string, int> count;
  for (const OperatorNode& node : graph.nodes()) {
    const bool counts = node.op->role() == Role::kCompute && node.op->type() != "TypeCvt";
    if (counts && IsQuantized(graph.var(node.outputs[0]).type.dtype)) {
      ++count[std::string(node.op->type())];
    }
  }
  return count;
}

// Models are written as float operators between DequantizeLinear and QuantizeLinear, and read back
// as the same integer operators.
TEST(QuantizedOnnx, WrittenModelsAreReadAgain) {
  cpu::RegisterDevice();
  std::vector<std::string> paths = {"digits/digits.u8", "digits/digits.s8", "tiny/ad",
                                    "tiny/ic",          "tiny/kws",         "tiny/vww"};
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/int8/nodes"))) {
    if (entry.path().extension() == ".onnx") {
      paths.push_back(absl::StrCat("nodes/", entry.path().stem().string()));
    }
  }
  TempDir dir;
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const std::string file = absl::StrCat("data/int8/", path, ".onnx");
    if (!HasSharedData(file)) continue;  // models of others, outside of a clone
    const Graph graph = Value(ReadOnnx(SharedData(file)));
    ASSERT_TRUE(IsOk(WriteOnnx(graph, dir / "m.onnx")));
    const Graph again = Value(ReadOnnx(dir / "m.onnx"));
    EXPECT_EQ(OperatorsOfIntegers(again), OperatorsOfIntegers(graph));
    std::vector<std::vector<HostTensor>> outputs;
    for (const Graph* const each : {&graph, &again}) {
      const auto executable = Value(Executable::Compile(*each, PlanRequest()));
      const auto session = Value(Session::Create(executable));
      InputTensors inputs;
      for (const Binding& input : each->inputs()) {
        inputs[input.name] = RandomBytes(each->var(input.var).type);
      }
      outputs.push_back(Value(BindTensors(*session, inputs)));
      ASSERT_TRUE(IsOk(session->Run()));
    }
    for (size_t i = 0; i < outputs[0].size(); ++i) {
      EXPECT_EQ(Differing(outputs[1][i], outputs[0][i]), 0) << "output " << i;
    }
  }
}

// Returns y of the nodes, if x and w are integers of one byte, 0 to 255.
absl::StatusOr<HostTensor> OfBytes(const std::string& nodes, const HostTensor& x,
                                   const HostTensor& w) {
  const absl::StatusOr<Graph> graph =
      ReadText(absl::StrCat("ir_version: 8 opset_import { version: 21 } ",
                            "opset_import { domain: 'com.microsoft' version: 1 } graph { ",
                            "name: 'g' ", nodes, " input ", ValueText("x", x.shape(), 2), " input ",
                            ValueText("w", w.shape(), 2), " output { name: 'y' } }"));
  if (!graph.ok()) return graph.status();
  return Value(EvaluateGraph(*graph, {{"x", x}, {"w", w}}))[0];
}

HostTensor Bytes(const Shape& shape, uint8_t value) {
  HostTensor tensor = HostTensor::Zeros(DType::kUint8, shape);
  for (uint8_t& each : tensor.mutable_data<uint8_t>()) each = value;
  return tensor;
}

// Models of ONNX Runtime's quantiser in its QOperator format; values are from ONNX Runtime 1.32.
TEST(QuantizedOnnx, OperatorsOfTheQuantiserGiveTheBitsOfTheReference) {
  const HostTensor x =
      HostTensor::FromValues<uint8_t>(DType::kUint8, {2, 4}, {0, 10, 100, 128, 150, 200, 255, 30});
  const HostTensor w =
      HostTensor::FromValues<uint8_t>(DType::kUint8, {2, 4}, {5, 250, 60, 90, 128, 3, 77, 255});
  const std::string constants = R"(
    initializer { name: 'xs' data_type: 1 float_data: 0.02 }
    initializer { name: 'xz' data_type: 2 int32_data: 128 }
    initializer { name: 'ws' data_type: 1 float_data: 0.05 }
    initializer { name: 'wz' data_type: 2 int32_data: 120 }
    initializer { name: 'ys' data_type: 1 float_data: 0.03 }
    initializer { name: 'yz' data_type: 2 int32_data: 100 }
    initializer { name: 'ps' data_type: 1 float_data: 0.00390625 }
    initializer { name: 'pz' data_type: 2 int32_data: 0 }
    initializer { name: 'k' data_type: 9 dims: 4 int32_data: [1, 0, 1, 0] }
    initializer { name: 'm' data_type: 3 dims: 4 dims: 2
                  int32_data: [3, -5, 100, 7, -128, 20, 127, -1] }
    initializer { name: 'ms' data_type: 1 dims: 2 float_data: [0.01, 0.02] }
    initializer { name: 'mz' data_type: 3 dims: 2 int32_data: [0, 0] }
    initializer { name: 'ns' data_type: 1 float_data: 0.01 }
    initializer { name: 'nz' data_type: 3 int32_data: 0 }
    initializer { name: 'c' data_type: 6 dims: 2 int32_data: [1000, -2000] } )";
  const std::string both = "'x', 'xs', 'xz', 'w', 'ws', 'wz', 'ys', 'yz'";
  const std::string image = "'x', 'xs', 'xz', 'ys', 'yz'", share = "'x', 'xs', 'xz', 'ps', 'pz'";
  const std::string matrix = "'x', 'xs', 'xz', 'm', 'ms', 'mz', 'c'";
  const std::string windows =
      absl::StrCat(IntsAttribute("kernel_shape", {2, 2}), IntsAttribute("pads", {1, 1, 0, 0}));
  const std::string axis = "attribute { name: 'axis' type: INT i: 1 } ";
  const struct {
    const char* type;
    std::string inputs, attributes;
    std::vector<double> expected;
    Shape shape = {2, 4};
  } kCases[] = {
      {"QLinearAdd", both, "", {0, 238, 0, 50, 128, 0, 113, 255}},
      {"QLinearMul", both, "", {255, 0, 156, 100, 106, 0, 0, 0}},
      {"QLinearLeakyRelu",
       image,
       "attribute { name: 'alpha' type: FLOAT f: 0.2 }",
       {83, 84, 96, 100, 115, 148, 185, 87}},
      {"QLinearSigmoid", share, "", {18, 22, 93, 128, 156, 207, 237, 32}},
      {"QLinearSoftmax",
       share,
       axis + "attribute { name: 'opset' type: INT i: 13 }",
       {11, 14, 84, 147, 21, 58, 175, 2}},
      {"QLinearGlobalAveragePool", image, "", {54, 120}, {1, 2, 2, 2}},
      {"QLinearAveragePool", image, windows, {15, 18, 48, 54, 115, 131, 150, 120}, {1, 2, 2, 2}},
      {"QLinearConcat",
       "'ys', 'yz', 'x', 'xs', 'xz', 'w', 'ws', 'wz'",
       axis,
       {15, 21, 81, 100, 0, 255, 0, 50, 115, 148, 185, 35, 113, 0, 28, 255}},
      {"QLinearWhere", absl::StrCat("'k', ", both), "", {15, 255, 81, 50, 115, 0, 185, 255}},
      {"QGemm", absl::StrCat(matrix, ", 'ys', 'yz'"), "", {49, 63, 0, 114}},
      {"QGemm",
       "'x', 'xs', 'xz', 'm', 'ns', 'nz', 'c'",
       "",
       {-1.52f, -0.5492f, -4.0871997f, 0.20639999f}},
  };
  for (const auto& [type, inputs, attributes, expected, shape] : kCases) {
    SCOPED_TRACE(absl::StrCat(type, " of ", inputs));
    const absl::StatusOr<HostTensor> y =
        OfBytes(absl::StrCat("node { op_type: '", type, "' domain: 'com.microsoft' input: [",
                             inputs, "] output: 'y' ", attributes, " } ", constants),
                x.Reshaped(shape), w.Reshaped(shape));
    ASSERT_TRUE(IsOk(y.status()));
    ASSERT_EQ(y->num_elements(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      const double error = std::fabs(y->At(static_cast<int64_t>(i)) - expected[i]);
      EXPECT_LE(error, y->dtype() == DType::kFloat32 ? 1e-5 : 0) << "element " << i;
    }
  }
}

constexpr char kProduct[] = "node { op_type: 'MatMulInteger' input: ['x', 'w'] output: 'y' }";

// 39,015,001 is not exact in Float32.
TEST(QuantizedOnnx, SumsBeyondFloatsAreExact) {
  HostTensor x = Bytes({1, 601}, 255), w = Bytes({601, 1}, 255);
  x.mutable_data<uint8_t>()[600] = 1;
  w.mutable_data<uint8_t>()[600] = 1;
  const HostTensor y = Value(OfBytes(kProduct, x, w));
  EXPECT_EQ(y.dtype(), DType::kInt32);
  EXPECT_EQ(y.At(0), 600.0 * 255 * 255 + 1);
}

TEST(QuantizedOnnx, SumsThatMayBeInexactAreRefused) {
  const absl::Status status = OfBytes(kProduct, Bytes({1, 5000}, 1), Bytes({5000, 1}, 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sums of 5000 products"));
}

TEST(QuantizedOnnx, WrongScalesAndZeroPointsAreRefused) {
  const auto status = [](const std::string& scale, const std::string& zero) {
    return OfBytes(
               "node { op_type: 'DequantizeLinear' input: ['x', 's', 'z'] output: 'y' } "
               "initializer { name: 's' data_type: 1 " +
                   scale + " } initializer { name: 'z' " + zero + " }",
               Bytes({2, 3}, 7), Bytes({1}, 0))
        .status();
  };
  const std::string one = "float_data: 0.5", none = "data_type: 2 int32_data: 3";
  EXPECT_TRUE(IsOk(status(one, none)));
  const struct {
    std::string scale, zero, message;
  } kCases[] = {
      {"float_data: 0", none, "scale 0 is 0"},
      {"float_data: -1", none, "scale 0 is -1"},
      {"float_data: nan", none, "scale 0 is nan"},
      {"dims: 3 float_data: [1, inf, 1]", none, "scale 1 is inf"},
      {"dims: 2 float_data: [1, 1]", none, "the scale is {2}, for axis 1 of {2,3}"},
      {one, "data_type: 2 dims: 2 int32_data: [1, 1]", "the zero point is {2}"},
      {one, "data_type: 3 int32_data: 3", "the zero point is Int8, the tensor Uint8"},
  };
  for (const auto& [scale, zero, message] : kCases) {
    const absl::Status refused = status(scale, zero);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(message));
  }
}

// A bias is added in floats if its scale differs from the scale of the sums.
TEST(QuantizedOnnx, ABiasOfAnotherScaleIsNoInteger) {
  const std::string nodes = R"(
    node { op_type: 'DequantizeLinear' input: ['x', 's'] output: 'a' }
    node { op_type: 'DequantizeLinear' input: ['w', 's'] output: 'b' }
    node { op_type: 'DequantizeLinear' input: ['i', 't'] output: 'c' }
    node { op_type: 'Gemm' input: ['a', 'b', 'c'] output: 'd' }
    node { op_type: 'QuantizeLinear' input: ['d', 'u', 'z'] output: 'y' }
    initializer { name: 's' data_type: 1 float_data: 0.5 }
    initializer { name: 'u' data_type: 1 float_data: 1 }
    initializer { name: 'z' data_type: 2 int32_data: 0 }
    initializer { name: 'i' data_type: 6 dims: 1 int32_data: 7 } )";
  for (const auto& [scale, want] : {std::pair("0.25", 10.0), std::pair("2", 22.0)}) {
    const HostTensor y = Value(OfBytes(
        absl::StrCat(nodes, "initializer { name: 't' data_type: 1 float_data: ", scale, " }"),
        Bytes({1, 2}, 4), Bytes({2, 1}, 4)));
    EXPECT_EQ(y.At(0), want) << scale;  // 2 * 2 * 2 + 7 * scale, half to even
  }
}

TEST(QuantizedOnnx, ARangeOfZerosHasScaleOne) {
  const Graph graph = Value(ReadText(
      ModelText("node { op_type: 'DynamicQuantizeLinear' input: 'x' output: ['y', 's', 'z'] } "
                "output { name: 's' } output { name: 'z' }")));
  const std::vector<HostTensor> outputs =
      LoadedModel(graph).Run({{"x", HostTensor::Zeros(DType::kFloat32, {1, 2, 4, 4})}});
  std::vector<double> values;
  for (const HostTensor& output : outputs) values.push_back(output.At(0));
  EXPECT_THAT(values, UnorderedElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace ashlar::testing
