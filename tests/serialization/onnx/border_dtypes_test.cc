// Models whose inputs and outputs are floats other than Float32. They keep the dtype that the file
// declares, in the reference and on the CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_format.h"
#include "graph/half.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int kFloat16 = 10, kDouble = 11, kBFloat16 = 16;  // ONNX's numbers of the types

std::string StepText(const std::string& type, const std::string& inputs,
                     const std::string& attributes = "", const std::string& output = "y") {
  return absl::StrCat("node { op_type: '", type, "' input: [", inputs, "] output: '", output, "' ",
                      attributes, "} ");
}

std::string NumberText(const std::string& name, double value, int type = kDouble) {
  const std::string field = type == kDouble ? "double_data: " : "int32_data: ";
  return absl::StrCat("initializer { name: '", name, "' data_type: ", type, " dims: 1 ", field,
                      absl::StrFormat("%.17g", value), " } ");
}

// Returns a model from x {3} to y.
std::string BorderModel(const std::string& graph, int type, int output_type) {
  return absl::StrCat("ir_version: 8 opset_import { version: 19 } graph { name: 'g' ", graph,
                      "input ", ValueText("x", {3}, type), "output ",
                      ValueText("y", {3}, output_type), "}");
}

struct BorderCase {
  const char* name;
  std::string graph;
  int input, output;
  DType in, out;
  std::vector<double> x, y;
};

std::vector<BorderCase> BorderCases() {
  const double a = 1.00000001, big = 16777217, huge = 1e300;
  const auto half = [](double x) { return static_cast<double>(HalfToFloat(FloatToHalf(x))); };
  const std::vector<double> wide = {a, big, huge};
  const DType f64 = DType::kFloat64, f16 = DType::kFloat16;
  const double x0 = half(1.37), x1 = half(-2.9), x2 = half(300);
  return {
      {"Sub",
       StepText("Sub", "'x', 'k'") + NumberText("k", 1),
       kDouble,
       kDouble,
       f64,
       f64,
       wide,
       {a - 1, big - 1, huge - 1}},
      // Attributes are Float32, and so are their defaults.
      {"Default",
       StepText("LeakyRelu", "'x'"),
       kDouble,
       kDouble,
       f64,
       f64,
       {-1, 2, -3},
       {-double{0.01f}, 2, -3 * double{0.01f}}},
      {"Function",
       StepText("Sqrt", "'x'"),
       kDouble,
       kDouble,
       f64,
       f64,
       wide,
       {std::sqrt(a), std::sqrt(big), std::sqrt(huge)}},
      {"Movement",
       StepText("Concat", "'x', 'x'", "attribute { name: 'axis' type: INT i: 0 } ", "t") +
           "node { op_type: 'Slice' input: ['t', 'from', 'to'] output: 'y' } " +
           IntsText("from", {2}) + IntsText("to", {5}),
       kDouble,
       kDouble,
       f64,
       f64,
       wide,
       {huge, a, big}},
      {"Comparison",
       StepText("Less", "'x', 'k'") + NumberText("k", big + 1),
       kDouble,
       9,
       f64,
       DType::kBool,
       wide,
       {1, 1, 0}},
      {"Cast",
       StepText("Cast", "'x'", "attribute { name: 'to' type: INT i: 7 } "),
       kDouble,
       7,
       f64,
       DType::kInt64,
       {1.5, big, -3.5},
       {1, big, -3}},
      {"ArgMax", StepText("ArgMax", "'x'"), kDouble, 7, f64, DType::kInt64, {1, a, 1}, {1}},
      {"TopK",
       StepText("TopK", "'x', 'three'") + IntsText("three", {3}),
       kDouble,
       kDouble,
       f64,
       f64,
       {1, huge, a},
       {huge, a, 1}},
      {"Softmax",
       StepText("Softmax", "'x'"),
       kDouble,
       kDouble,
       f64,
       f64,
       {0, 0, 0},
       {1.0 / 3, 1.0 / 3, 1.0 / 3}},
      {"Half",
       StepText("Mul", "'x', 'x'"),
       kFloat16,
       kFloat16,
       f16,
       f16,
       {x0, x1, x2},
       {half(x0 * x0), half(x1 * x1), INFINITY}},
      {"BFloat16",
       StepText("Neg", "'x'"),
       kBFloat16,
       kBFloat16,
       DType::kBFloat16,
       DType::kBFloat16,
       {1, 2.5, 1e30},
       {-1, -2.5, static_cast<double>(-BFloat16ToFloat(FloatToBFloat16(1e30f)))}},
      {"HalfToDouble",
       StepText("Cast", "'x'", "attribute { name: 'to' type: INT i: 11 } "),
       kFloat16,
       kDouble,
       f16,
       f64,
       {x0, x1, x2},
       {x0, x1, x2}},
  };
}

HostTensor TensorOf(DType dtype, const std::vector<double>& values) {
  HostTensor tensor = HostTensor::Zeros(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.Set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

class BorderDTypes : public ::testing::TestWithParam<BorderCase> {};

TEST_P(BorderDTypes, AreThoseOfTheFile) {
  const BorderCase& c = GetParam();
  TempDir dir;
  WriteWholeFile(dir / "m.onnx", Serialized(BorderModel(c.graph, c.input, c.output)));
  const Graph graph = Value(ReadOnnx(dir / "m.onnx"));
  ASSERT_TRUE(IsOk(WriteOnnx(graph, dir / "again.onnx")));
  const Graph again = Value(ReadOnnx(dir / "again.onnx"));
  const InputTensors inputs = {{"x", TensorOf(c.in, c.x)}};
  const HostTensor results[] = {Value(EvaluateGraph(graph, {{"x", inputs.at("x")}}))[0],
                                LoadedModel(graph).Run(inputs)[0],
                                LoadedModel(again).Run(inputs)[0]};
  for (const HostTensor& y : results) {
    EXPECT_EQ(y.dtype(), c.out);
    EXPECT_TRUE(Near(y, c.y, c.out == DType::kFloat64 ? 1e-15 : 0));
  }
  const OnnxSignature signature = Value(ReadOnnxSignature(dir / "m.onnx"));
  EXPECT_EQ(signature.inputs[0].dtype, c.in);
  EXPECT_EQ(signature.outputs[0].dtype, c.out);
}

INSTANTIATE_TEST_SUITE_P(Models, BorderDTypes, ::testing::ValuesIn(BorderCases()),
                         [](const ::testing::TestParamInfo<BorderCase>& info) {
                           return info.param.name;
                         });

TEST(BorderDTypesTest, NarrowedDoublesAreNoted) {
  const std::string graph =
      StepText("Mul", "'x', 'k'", "", "t") + StepText("Reshape", "'t', 'image'", "", "r") +
      StepText("GridSample", "'r', 'w'", "", "g") + StepText("Reshape", "'g', 'three'") +
      IntsText("three", {3}) + NumberText("k", 2) + IntsText("image", {1, 1, 1, 3}) +
      "initializer { name: 'w' data_type: 11 dims: [1, 1, 3, 2] double_data: "
      "[1e300, 1, 1, 1, 1, 1] } ";
  std::vector<std::string> notes;
  OnnxReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  ASSERT_TRUE(IsOk(ReadText(BorderModel(graph, kDouble, kDouble), options).status()));
  EXPECT_EQ(notes, (std::vector<std::string>{"1e+300 of a double constant is infinite as Float32",
                                             "double is computed as Float32 by GridSample"}));
}

}  // namespace
}  // namespace ashlar::testing
