// Reads TensorFlow Lite files: the operators they become, and the errors of wrong ones.
#include "serialization/tflite/import/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "graph/half.h"
#include "tests/serialization/bad_files.h"
#include "tests/serialization/tflite/model_builder.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tflite::BuiltinOperator;
using tflite::BuiltinOptions;
using tflite::TensorType;

absl::Span<const uint8_t> AsBytes(const std::string& file) {
  return {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
}

absl::StatusOr<Graph> Read(const std::string& file, const TfliteReadOptions& options = {}) {
  return ReadTflite(AsBytes(file), nullptr, "m.tflite", options);
}

int CountOf(const Graph& graph, absl::string_view type) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [&](const auto& node) { return node.op->type() == type; }));
}

std::vector<double> OutputOf(const Graph& graph, const std::vector<float>& x) {
  const Shape& shape = graph.var(graph.inputs()[0].var).type.shape;
  const HostTensor input = HostTensor::FromValues<float>(DType::kFloat32, shape, x);
  const HostTensor y = LoadedModel(graph).Run({{graph.inputs()[0].name, input}})[0];
  std::vector<double> values;
  for (int64_t i = 0; i < y.num_elements(); ++i) values.push_back(y.At(i));
  return values;
}

// Adds a 1x1 convolution with these weights [2, 1, 1, 2] and no bias.
int AddConv(TfliteBuilder& model, int x, int weights, const std::string& name) {
  const int y = model.Tensor(name, {{1, 2, 2, 2}});
  model.Operator(
      BuiltinOperator::CONV_2D, {x, weights}, {y}, BuiltinOptions::Conv2DOptions,
      tflite::CreateConv2DOptions(model.builder(), tflite::Padding::VALID, 1, 1).Union());
  return y;
}

TEST(Tflite, ImagesStayInOneLayoutBetweenOperators) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 2, 2, 2}});
  const int weights = model.Floats("w", {2, 1, 1, 2}, {1, 2, 3, 4});
  const int a = AddConv(model, x, weights, "a");
  const int relu = model.Tensor("relu", {{1, 2, 2, 2}});
  model.Operator(BuiltinOperator::RELU, {a}, {relu});
  const int bias = model.Floats("bias", {2}, {10, 20});
  const int sum = model.Tensor("sum", {{1, 2, 2, 2}});
  model.Operator(BuiltinOperator::ADD, {relu, bias}, {sum}, BuiltinOptions::AddOptions,
                 tflite::CreateAddOptions(model.builder()).Union());
  const int y = AddConv(model, sum, weights, "y");
  const Graph graph = Value(Read(model.Finish({x}, {y})));
  EXPECT_EQ(CountOf(graph, "Dimshuffle"), 2);  // at the input and at the output
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape, (Shape{1, 2, 2, 2}));
  // A pixel (1, 0): a = (1, 3), sum = (11, 23), y = (11 + 46, 33 + 92).
  EXPECT_THAT(OutputOf(graph, {1, 0, 0, 1, -1, 0, 1, 1}),
              ElementsAre(57, 125, 60, 132, 50, 110, 67, 147));
}

TEST(Tflite, TransposesOfImagesOnlyNameTheOtherLayout) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 2, 2, 2}});  // {N,C,H,W}
  const int image = model.Tensor("image", {{1, 2, 2, 2}});
  model.Operator(BuiltinOperator::TRANSPOSE, {x, model.Ints("to", {0, 2, 3, 1})}, {image});
  const int y = AddConv(model, image, model.Floats("w", {2, 1, 1, 2}, {1, 2, 3, 4}), "conv");
  const int back = model.Tensor("back", {{1, 2, 2, 2}});
  model.Operator(BuiltinOperator::TRANSPOSE, {y, model.Ints("back_to", {0, 3, 1, 2})}, {back});
  const Graph graph = Value(Read(model.Finish({x}, {back})));
  EXPECT_EQ(CountOf(graph, "Dimshuffle"), 0);
  EXPECT_THAT(OutputOf(graph, {1, 0, 0, 0, 0, 1, 0, 0}), ElementsAre(1, 2, 0, 0, 3, 4, 0, 0));
}

TEST(Tflite, ConvolutionsTakeZerosAroundTheirImage) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 1, 1, 2}});
  const int padded = model.Tensor("padded", {{1, 2, 2, 2}});
  const std::vector<int32_t> zeros = {0, 0, 0, 1, 1, 0, 0, 0};  // a row below, a column before
  const int pads = model.Tensor("pads", {{4, 2}, TensorType::INT32, BytesOfNumbers(zeros)});
  model.Operator(BuiltinOperator::PAD, {x, pads}, {padded});
  const int weights = model.Floats("w", {1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const int y = model.Tensor("y", {{1, 1, 1, 1}});
  model.Operator(
      BuiltinOperator::CONV_2D, {padded, weights}, {y}, BuiltinOptions::Conv2DOptions,
      tflite::CreateConv2DOptions(model.builder(), tflite::Padding::VALID, 1, 1).Union());
  const Graph graph = Value(Read(model.Finish({x}, {y})));
  EXPECT_EQ(CountOf(graph, "Pad"), 0);
  EXPECT_THAT(OutputOf(graph, {10, 1}), ElementsAre(34));  // 10 * 3 + 1 * 4
}

TEST(Tflite, HalfWeightsBecomeFloatConstants) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 2, 2, 2}});
  std::vector<uint16_t> halves;
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f}) halves.push_back(FloatToHalf(value));
  const int half =
      model.Tensor("half", {{2, 1, 1, 2}, TensorType::FLOAT16, BytesOfNumbers(halves)});
  const int weights = model.Tensor("w", {{2, 1, 1, 2}});
  model.Operator(BuiltinOperator::DEQUANTIZE, {half}, {weights});
  const int y = AddConv(model, x, weights, "y");
  const Graph graph = Value(Read(model.Finish({x}, {y})));
  EXPECT_EQ(CountOf(graph, "TypeCvt"), 0);
  EXPECT_THAT(OutputOf(graph, {1, 0, 0, 1, 0, 0, 0, 0}), ElementsAre(1, 3, 2, 4, 0, 0, 0, 0));
}

// Returns a model of DENSIFY of {2,4}: 5 in row 0, 6 and 7 in row 1, at these indices.
std::string Sparse(const std::vector<int32_t>& segments, const std::vector<int32_t>& indices) {
  TfliteBuilder model;
  flatbuffers::FlatBufferBuilder& builder = model.builder();
  const auto ints = [&](const std::vector<int32_t>& values) {
    return tflite::CreateInt32Vector(builder, builder.CreateVector(values)).Union();
  };
  const std::vector<flatbuffers::Offset<tflite::Dimension>> dimensions = {
      tflite::CreateDimension(builder, tflite::DimensionType::DENSE, 2),
      tflite::CreateDimension(builder, tflite::DimensionType::SPARSE_CSR, 0,
                              tflite::IndexVector::Int32Vector, ints(segments),
                              tflite::IndexVector::Int32Vector, ints(indices))};
  const auto sparsity =
      tflite::CreateSparsity(builder, builder.CreateVector(std::vector<int32_t>{0, 1}), 0,
                             builder.CreateVector(dimensions));
  TfliteTensorSpec weights = {{2, 4}, TensorType::FLOAT32, BytesOfNumbers<float>({5, 6, 7})};
  weights.sparsity = sparsity;
  const int sparse = model.Tensor("sparse", weights), dense = model.Tensor("dense", {{2, 4}});
  model.Operator(BuiltinOperator::DENSIFY, {sparse}, {dense});
  const int x = model.Tensor("x", {{2, 4}}), y = model.Tensor("y", {{2, 4}});
  model.Operator(BuiltinOperator::ADD, {x, dense}, {y}, BuiltinOptions::AddOptions,
                 tflite::CreateAddOptions(model.builder()).Union());
  return model.Finish({x}, {y});
}

TEST(Tflite, SparseWeightsGetTheirZeros) {
  const Graph graph = Value(Read(Sparse({0, 1, 3}, {1, 0, 3})));
  EXPECT_THAT(OutputOf(graph, {1, 1, 1, 1, 0, 0, 0, 0}), ElementsAre(1, 6, 1, 1, 6, 0, 0, 7));
  ExpectRefused(
      {{"index", Sparse({0, 1, 3}, {1, 0, 4}), "level 1 has index 4, expected less than 4"},
       {"segment", Sparse({0, 1, 4}, {1, 0, 3}), "segment from 1 to 4 of 3 indices"},
       {"segments", Sparse({0, 1}, {1, 0, 3}), "level 1 has 2 segments"},
       {"few", Sparse({0, 1, 2}, {1, 0, 3}), "12 bytes, of which its sparse elements are 8"}},
      "m.tflite", [](const std::string& file) { return Read(file).status(); });
}

TEST(Tflite, IntegersEnterAndLeaveAsTheFileStoresThem) {
  TfliteBuilder model;
  const TfliteTensorSpec bytes = {{1, 4}, TensorType::INT8, {}, {0.5f}, 3};
  const int x = model.Tensor("x", bytes), y = model.Tensor("y", bytes);
  model.Operator(BuiltinOperator::RELU, {x}, {y});
  const Graph graph = Value(Read(model.Finish({x}, {y})));
  EXPECT_EQ(graph.var(graph.inputs()[0].var).type.dtype, DType::kInt8);
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.dtype, DType::kInt8);
  const HostTensor input = HostTensor::FromValues<int8_t>(DType::kInt8, {1, 4}, {-128, 2, 3, 127});
  const HostTensor got = LoadedModel(graph).Run({{"x", input}})[0];
  EXPECT_THAT(got.data<int8_t>(), ElementsAre(3, 3, 3, 127));
}

// Regression, found by fuzzing: a zero point was read at an address that is no multiple of 8. Only
// sanitizers see that on x86.
TEST(Tflite, AZeroPointIsReadAtAnyAddress) {
  TfliteBuilder model;
  const TfliteTensorSpec bytes = {{1, 4}, TensorType::INT8, {}, {0.5f}, 3};
  const int x = model.Tensor("x", bytes), y = model.Tensor("y", bytes);
  model.Operator(BuiltinOperator::RELU, {x}, {y});
  std::string file = model.Finish({x}, {y});
  file.resize((file.size() + 7) / 8 * 8);
  const uint32_t length = 1, at = static_cast<uint32_t>(file.size());
  const int64_t zero = 3;
  file.append(reinterpret_cast<const char*>(&length), sizeof(length));
  file.append(reinterpret_cast<const char*>(&zero), sizeof(zero));  // 4 bytes behind such a one
  for (const tflite::Tensor* const tensor :
       *tflite::GetModel(file.data())->subgraphs()->Get(0)->tensors()) {
    const auto* const vector = reinterpret_cast<const char*>(tensor->quantization()->zero_point());
    // The offset to the vector is relative to its own place.
    for (uint32_t place = 0; place + 4 <= at; place += 4) {
      uint32_t offset = 0;
      std::memcpy(&offset, file.data() + place, sizeof(offset));
      if (file.data() + place + offset != vector) continue;
      offset = at - place;
      std::memcpy(file.data() + place, &offset, sizeof(offset));
      break;
    }
    EXPECT_EQ(reinterpret_cast<const char*>(tensor->quantization()->zero_point()),
              file.data() + at);
  }
  const Graph graph = Value(Read(file));
  const HostTensor input = HostTensor::FromValues<int8_t>(DType::kInt8, {1, 4}, {-128, 2, 3, 127});
  const HostTensor got = LoadedModel(graph).Run({{"x", input}})[0];
  EXPECT_THAT(got.data<int8_t>(), ElementsAre(3, 3, 3, 127));
}

// Regression, found by fuzzing: a slope that is not a number became the least integer, whose
// products overflow. Only sanitizers see that.
TEST(Tflite, ASlopeThatIsNoNumberIsRead) {
  TfliteBuilder model;
  const TfliteTensorSpec bytes = {{1, 4}, TensorType::INT8, {}, {0.5f}, 3};
  const int x = model.Tensor("x", bytes), y = model.Tensor("y", bytes);
  const auto options = tflite::CreateLeakyReluOptions(model.builder(), std::nanf(""));
  model.Operator(BuiltinOperator::LEAKY_RELU, {x}, {y}, BuiltinOptions::LeakyReluOptions,
                 options.Union());
  EXPECT_TRUE(IsOk(Read(model.Finish({x}, {y})).status()));
}

TEST(Tflite, OtherShapesOfInputsReplaceTheFiles) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 4}, TensorType::FLOAT32, {}, {}, 0, 0, {-1, 4}});
  const int y = model.Tensor("y", {{1, 4}});
  model.Operator(BuiltinOperator::RELU, {x}, {y});
  const std::string file = model.Finish({x}, {y});
  TfliteReadOptions options;
  options.shapes["x"] = {3, 4};
  const Graph graph = Value(Read(file, options));
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape, (Shape{3, 4}));
  const std::vector<OpenAxis> open = Value(OpenAxesOfTflite(AsBytes(file)));
  EXPECT_THAT(open, ElementsAre(OpenAxis{"x", 0, "batch"}));
  options.shapes = {{"z", {3, 4}}};
  const absl::Status refused = Read(file, options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("input z: the model has no such input"));
}

TEST(Tflite, InnerTensorsMayBecomeOutputs) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 2}}), a = model.Tensor("a", {{1, 2}}),
            y = model.Tensor("y", {{1, 2}});
  model.Operator(BuiltinOperator::RELU, {x}, {a});
  model.Operator(BuiltinOperator::EXP, {a}, {y});
  const std::string file = model.Finish({x}, {y});
  EXPECT_THAT(OutputOf(Value(Read(file, {.outputs = {"a"}})), {-1, 2}), ElementsAre(0, 2));
  EXPECT_THAT(std::string(Read(file, {.outputs = {"b"}}).status().message()),
              HasSubstr("output b: the model has no such tensor"));
}

TEST(Tflite, MissingOperatorsAreNamedTogether) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 2}}), y = model.Tensor("y", {{1, 2}});
  model.Custom("TransformLandmarks", {x}, {y});
  model.Operator(BuiltinOperator::SVDF, {x}, {y});
  model.Operator(BuiltinOperator::SVDF, {x}, {y});
  const absl::Status status = Read(model.Finish({x}, {y})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "m.tflite: operators that are not supported: SVDF (2 uses, first: operator 1), custom "
            "operator 'TransformLandmarks' (1 use, first: operator 0)");
}

// Returns a model of one operator, whose weights and options may be wrong.
struct WrongConv {
  std::vector<int32_t> filter = {2, 1, 1, 2};
  size_t bytes = 16;
  int32_t stride = 1;
  std::vector<int32_t> inputs = {0, 1};
  bool options = true;
  std::vector<float> scales = {};
};
std::string Wrong(const WrongConv& wrong) {
  TfliteBuilder model;
  const int x = model.Tensor("x", {{1, 2, 2, 2}});
  model.Tensor(
      "w", {wrong.filter, TensorType::FLOAT32, std::vector<uint8_t>(wrong.bytes), wrong.scales});
  const int y = model.Tensor("y", {{1, 2, 2, 2}});
  flatbuffers::Offset<void> options = 0;
  if (wrong.options) {
    options = tflite::CreateConv2DOptions(model.builder(), tflite::Padding::VALID, wrong.stride,
                                          wrong.stride)
                  .Union();
  }
  model.Operator(BuiltinOperator::CONV_2D, wrong.inputs, {y},
                 wrong.options ? BuiltinOptions::Conv2DOptions : BuiltinOptions::NONE, options);
  return model.Finish({x}, {y});
}

TEST(Tflite, WrongModelsAreRefused) {
  std::string version = Wrong({});
  TfliteBuilder nothing;
  const int x = nothing.Tensor("x", {{1, 2}}), y = nothing.Tensor("y", {{1, 2}});
  TfliteBuilder zero;
  const TfliteTensorSpec bytes = {{1, 4}, TensorType::INT8, {}, {0.5f}, 300};
  const int a = zero.Tensor("a", bytes);
  zero.Operator(BuiltinOperator::RELU, {a}, {a});
  TfliteBuilder scale;
  const int b = scale.Tensor("b", {{1, 4}, TensorType::INT8, {}, {-1.0f}});
  scale.Operator(BuiltinOperator::RELU, {b}, {b});
  ExpectRefused(
      {{"empty", "", "no TensorFlow Lite model"},
       {"short", "abcdTFL3", "no TensorFlow Lite model"},
       {"output without maker", nothing.Finish({x}, {y}), "output 'y' is made by nothing"},
       {"missing input", Wrong({.inputs = {0}}),
        "operator 0 (CONV_2D) 'y': 1 inputs, expected 2 to 3"},
       {"omitted input", Wrong({.inputs = {0, -1}}), "of which 1 is missing"},
       {"input out of range", Wrong({.inputs = {0, 9}}), "input 1 is tensor 9, expected 0 to 2"},
       {"input made later", Wrong({.inputs = {2, 1}}), "input 0 'y' is made by nothing before"},
       {"too few bytes", Wrong({.bytes = 12}),
        "tensor 'w' has 12 bytes, Float32{2,1,1,2} needs 16"},
       {"negative size", Wrong({.filter = {2, 1, -1, 2}}), "tensor 'w'"},
       {"stride 0", Wrong({.stride = 0}), "stride 0"},
       {"filter of other channels", Wrong({.filter = {1, 1, 1, 4}}),
        "the filter is {1,1,1,4}, of an image with 2 channels"},
       {"no options", Wrong({.options = false}), "has no options of its kind"},
       {"zero point", zero.Finish({a}, {a}), "zero point 300, expected -128 to 127"},
       {"scale", scale.Finish({b}, {b}), "tensor 'b'"}},
      "m.tflite", [](const std::string& file) { return Read(file).status(); });
}

TEST(Tflite, TruncatedFilesAreRefusedOrRead) {
  const std::string file = Wrong({});
  for (size_t size = 0; size < file.size(); ++size) {
    // Copies, so that a sanitizer sees a read behind the end.
    const std::vector<char> part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    const absl::Status status = Read(std::string(part.data(), part.size())).status();
    EXPECT_FALSE(absl::IsInternal(status)) << size;
  }
}

TEST(Tflite, FoldedConstantsHaveALimit) {
  TfliteBuilder model;
  const int small = model.Floats("small", {1}, {1});
  const int large = model.Tensor("large", {{1 << 20}});
  model.Operator(BuiltinOperator::BROADCAST_TO, {small, model.Ints("to", {1 << 20})}, {large});
  const std::string file = model.Finish({}, {large});
  EXPECT_TRUE(IsOk(Read(file).status()));
  const absl::Status status = Read(file, {.most_folded_bytes = 1 << 20}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("takes more than 1048576 bytes"));
}

}  // namespace
}  // namespace ashlar::testing
