// Models of doubles: products, convolutions, poolings, normalisations and their compositions are
// computed in doubles on the CPU, and a note names the operators that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/serialization/onnx/import/computed_node.h"
#include "tests/support/model/loaded_model.h"

namespace ashlar::testing {
namespace {

constexpr DType kDoubles = DType::kFloat64;

struct DoubleNode {
  std::string node;
  NamedInputs inputs;
  int outputs = 1;
  std::string more = {};
};

std::string TypeText(const std::string& type, const std::string& attributes = "") {
  return absl::StrCat("op_type: '", type, "' ", attributes);
}

std::vector<DoubleNode> DoubleNodes() {
  std::mt19937_64 random(17);
  const auto x = [&](const Shape& shape) { return RandomTensor(random, kDoubles, shape); };
  const auto positive = [&](const Shape& shape) {
    return RandomTensor(random, kDoubles, shape, 0.1, 2);
  };
  const auto ints = [](const char* name, const std::vector<int64_t>& values) {
    return IntsAttribute(name, values);
  };
  const std::string kernel = ints("kernel_shape", {3, 3});
  const std::string sizes =
      "initializer { name: 'sizes' data_type: 7 dims: 4 int64_data: [1, 2, 7, 9] } ";
  return {
      {TypeText("MatMul"), {{"a", x({2, 5, 70})}, {"b", x({70, 19})}}},
      {TypeText("Gemm", IntAttribute("transA", 1) + IntAttribute("transB", 1)),
       {{"a", x({30, 5})}, {"b", x({9, 30})}, {"c", x({9})}}},
      {TypeText("Einsum", "attribute { name: 'equation' type: STRING s: 'bij,bjk->bik' } "),
       {{"a", x({2, 3, 4})}, {"b", x({2, 4, 5})}}},
      {TypeText("Det"), {{"a", x({2, 3, 3})}}},
      {TypeText("Conv", ints("pads", {1, 1, 1, 1})),
       {{"x", x({1, 6, 9, 8})}, {"w", x({5, 6, 3, 3})}, {"b", x({5})}}},
      {TypeText("Conv", IntAttribute("group", 3) + ints("strides", {2, 1})),
       {{"x", x({2, 6, 9, 8})}, {"w", x({6, 2, 3, 3})}}},
      {TypeText("Conv"), {{"x", x({1, 3, 12})}, {"w", x({4, 3, 3})}}},
      {TypeText("Conv"), {{"x", x({1, 2, 5, 6, 7})}, {"w", x({3, 2, 2, 3, 3})}, {"b", x({3})}}},
      {TypeText("ConvTranspose", ints("strides", {2, 2}) + ints("output_padding", {1, 0})),
       {{"x", x({1, 4, 5, 6})}, {"w", x({4, 3, 3, 3})}, {"b", x({3})}}},
      {TypeText("ConvTranspose", ints("strides", {2})), {{"x", x({1, 4, 5})}, {"w", x({4, 3, 3})}}},
      {TypeText("MaxPool", kernel), {{"x", x({1, 3, 8, 8})}}, 2},
      {TypeText("AveragePool", kernel + ints("strides", {2, 2}) + IntAttribute("ceil_mode", 1) +
                                   IntAttribute("count_include_pad", 1)),
       {{"x", x({1, 3, 8, 8})}}},
      {TypeText("LpPool", kernel + IntAttribute("p", 3)), {{"x", x({1, 3, 8, 8})}}},
      {TypeText("GlobalAveragePool"), {{"x", x({2, 3, 8, 8})}}},
      {TypeText("GlobalMaxPool"), {{"x", x({2, 3, 8, 8})}}},
      {TypeText("Softmax"), {{"x", x({3, 40})}}},
      {TypeText("LogSoftmax", IntAttribute("axis", 1)), {{"x", x({3, 40, 2})}}},
      {TypeText("LRN", IntAttribute("size", 3)), {{"x", x({1, 8, 5, 5})}}},
      {TypeText("BatchNormalization"),
       {{"x", x({2, 3, 4, 5})}, {"s", x({3})}, {"b", x({3})}, {"m", x({3})}, {"v", positive({3})}}},
      {TypeText("InstanceNormalization"), {{"x", x({2, 3, 4, 5})}, {"s", x({3})}, {"b", x({3})}}},
      {TypeText("GroupNormalization", IntAttribute("num_groups", 2)),
       {{"x", x({2, 4, 3, 5})}, {"s", x({4})}, {"b", x({4})}}},
      {TypeText("LayerNormalization"), {{"x", x({2, 3, 9})}, {"s", x({9})}, {"b", x({9})}}, 3},
      {TypeText("RMSNormalization"), {{"x", x({2, 3, 9})}, {"s", x({9})}}},
      {TypeText("LpNormalization"), {{"x", x({2, 3, 9})}}},
      {TypeText("MeanVarianceNormalization"), {{"x", x({2, 3, 4, 5})}}},
      {TypeText("ReduceMean"), {{"x", x({2, 3, 4, 5})}}},
      {TypeText("ReduceLogSumExp"), {{"x", x({2, 30})}}},
      {TypeText("LSTM", IntAttribute("hidden_size", 3)),
       {{"x", x({4, 2, 5})}, {"w", x({1, 12, 5})}, {"r", x({1, 12, 3})}, {"b", x({1, 24})}},
       3},
      {TypeText("GRU", IntAttribute("hidden_size", 3)),
       {{"x", x({4, 2, 5})}, {"w", x({1, 9, 5})}, {"r", x({1, 9, 3})}, {"b", x({1, 18})}},
       2},
      {TypeText("RNN", IntAttribute("hidden_size", 3)),
       {{"x", x({4, 2, 5})}, {"w", x({1, 3, 5})}, {"r", x({1, 3, 3})}},
       2},
      {TypeText("Attention", IntAttribute("is_causal", 1)),
       {{"q", x({1, 2, 5, 8})}, {"k", x({1, 2, 7, 8})}, {"v", x({1, 2, 7, 8})}}},
      {TypeText("Attention"),
       {{"q", x({1, 2, 5, 8})}, {"k", x({1, 2, 7, 8})}, {"v", x({1, 2, 7, 8})}, {"m", x({5, 7})}}},
      {TypeText("RotaryEmbedding"),
       {{"x", x({1, 2, 5, 8})}, {"c", x({1, 5, 4})}, {"s", x({1, 5, 4})}}},
      {TypeText("Resize",
                "attribute { name: 'mode' type: STRING s: 'linear' } input: 'x' input: '' "
                "input: '' input: 'sizes'"),
       {},
       1,
       sizes},
      {TypeText("DFT"), {{"x", x({1, 16, 1})}}},
      {TypeText("AffineGrid", "input: 'x' input: 'sizes'"), {}, 1, sizes},
  };
}

// Returns the text, and the input x if the node names it itself.
std::string TextOf(DoubleNode& test) {
  const bool apart = test.inputs.empty();
  std::string more = test.more;
  if (apart) {
    std::mt19937_64 random(4);
    const Shape shape =
        test.node.find("AffineGrid") != std::string::npos ? Shape{1, 2, 3} : Shape{1, 2, 4, 5};
    test.inputs = {{"x", RandomTensor(random, kDoubles, shape)}};
    absl::StrAppend(&more, "input ", ValueText("x", shape, OnnxTypeOf(kDoubles)));
  }
  return OneNodeText(test.node, apart ? NamedInputs() : test.inputs, test.outputs, more);
}

TEST(OnnxDoubles, AreComputedInDoubles) {
  for (DoubleNode& test : DoubleNodes()) {
    SCOPED_TRACE(test.node);
    std::vector<std::string> notes;
    OnnxReadOptions options;
    options.note = [&](const std::string& note) { notes.push_back(note); };
    const absl::StatusOr<Graph> graph = ReadText(TextOf(test), options);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_THAT(notes, ::testing::IsEmpty());
    for (const OperatorNode& node : graph->nodes()) {
      for (const int output : node.outputs) {
        if (graph->constant(output) != nullptr) continue;  // such as the scales of a Resize
        EXPECT_NE(graph->var(output).type.dtype, DType::kFloat32) << Describe(node);
      }
    }
    InputTensors inputs;
    for (const auto& [name, value] : test.inputs) inputs[name] = value;
    const std::vector<HostTensor> expected =
        Value(EvaluateGraph(*graph, {inputs.begin(), inputs.end()}));
    const std::vector<HostTensor> actual = LoadedModel(*graph).Run(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(Near(actual[i], expected[i], 1e-13));
  }
}

// 1e8, 1024 times 2^-10 and -1e8: a Float32 does not hold the sums.
TEST(OnnxDoubles, KeepSmallTermsBesideLargeOnes) {
  constexpr int64_t kTerms = 1024;
  HostTensor x = HostTensor::Zeros(kDoubles, {1, 1, kTerms + 2, 1});
  for (int64_t i = 1; i <= kTerms; ++i) x.Set(i, 0x1p-10);
  x.Set(0, 1e8);
  x.Set(kTerms + 1, -1e8);
  HostTensor ones = HostTensor::Zeros(kDoubles, x.shape());
  for (int64_t i = 0; i < kTerms + 2; ++i) ones.Set(i, 1);
  const double mean = 1.0 / (kTerms + 2);
  const struct {
    std::string node;
    NamedInputs inputs;
    double sum;
  } kRows[] = {
      {TypeText("MatMul"),
       {{"a", x.Reshaped({1, kTerms + 2})}, {"b", ones.Reshaped({kTerms + 2, 1})}},
       1},
      {TypeText("Gemm", IntAttribute("transB", 1)),
       {{"a", ones.Reshaped({1, kTerms + 2})}, {"b", x.Reshaped({1, kTerms + 2})}},
       1},
      {TypeText("Conv"), {{"x", x}, {"w", ones}}, 1},
      {TypeText("ConvTranspose"),
       {{"x", x.Reshaped({1, kTerms + 2, 1, 1})}, {"w", ones.Reshaped({kTerms + 2, 1, 1, 1})}},
       1},
      {TypeText("GlobalAveragePool"), {{"x", x}}, mean},
      {TypeText("AveragePool", IntsAttribute("kernel_shape", {kTerms + 2, 1})), {{"x", x}}, mean},
      {TypeText("ReduceSum"), {{"x", x}}, 1},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.node);
    const Graph graph = Value(ReadText(OneNodeText(row.node, row.inputs, 1)));
    InputTensors inputs;
    for (const auto& [name, value] : row.inputs) inputs[name] = value;
    const HostTensor y = LoadedModel(graph).Run(inputs)[0];
    EXPECT_EQ(y.dtype(), kDoubles);
    ASSERT_EQ(y.num_elements(), 1);
    EXPECT_DOUBLE_EQ(y.At(0), row.sum);
  }
}

TEST(OnnxDoubles, SamplesAreComputedInFloat32AndNoted) {
  std::vector<std::string> notes;
  OnnxReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const NamedInputs inputs = {{"x", HostTensor::Zeros(kDoubles, {1, 1, 4, 4})},
                              {"g", HostTensor::Zeros(kDoubles, {1, 2, 2, 2})}};
  ASSERT_TRUE(IsOk(ReadText(OneNodeText(TypeText("GridSample"), inputs, 1), options).status()));
  EXPECT_EQ(notes, std::vector<std::string>{"double is computed as Float32 by GridSample"});
}

// Deformable DETR's export: its grid is of doubles, and its image and result are not.
TEST(OnnxDoubles, SamplesHaveTheDtypeOfTheImage) {
  for (const DType image : {DType::kFloat32, kDoubles}) {
    const DType grid = image == kDoubles ? DType::kFloat32 : kDoubles;
    const NamedInputs inputs = {{"x", HostTensor::Zeros(image, {1, 1, 4, 4})},
                                {"g", HostTensor::Zeros(grid, {1, 2, 2, 2})}};
    const Graph graph = Value(ReadText(OneNodeText(TypeText("GridSample"), inputs, 1)));
    EXPECT_EQ(graph.var(graph.outputs()[0].var).type.dtype, image);
  }
}

}  // namespace
}  // namespace ashlar::testing
