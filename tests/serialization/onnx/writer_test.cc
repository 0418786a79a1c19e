#include "serialization/onnx/writer.h"

#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "serialization/npz.h"
#include "tests/serialization/onnx/valid_model.h"
#include "tests/serialization/sample_graphs.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar {
namespace {

using ::testing::ElementsAre;
using testing::ExpectValid;
using testing::GraphMaker;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ParseOnnx;
using testing::TempDir;
using testing::Value;

// With ASHLAR_ONNX_CASES set to a folder, the models stay there beside inputs and the outputs of
// host evaluation, for scripts/check_onnx.py to run them in ONNX Runtime.
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

// Operators that hand their input on once took the name of the input's value away: its other
// readers, and the graph's output, referred to nothing.
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
  const int a = maker.Add<Elemwise>({ScalarFunction::kRelu}, {ints(DType::kInt32)}, "first");
  maker.Output(a);
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kRelu}, {ints(DType::kInt8)}, "second"));
  TempDir dir;
  testing::WriteWholeFile(dir / "m.onnx", "old");
  const absl::Status status = WriteOnnx(std::move(maker).Build(), dir / "m.onnx");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  for (const char* part : {"m.onnx", "2 operators", "first (Elemwise", "RELU of Int32",
                           "second (Elemwise", "RELU of Int8"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(testing::ReadWholeFile(dir / "m.onnx"), "old");
}

TEST(OnnxWriter, RefusesAModelBeyondTwoGiB) {
  GraphMaker maker;
  // Never touched: only its size counts.
  const Shape shape = {1 << 15, 1 << 15};
  const auto nothing = std::make_shared<int>();
  maker.Output(maker.Constant(HostTensor::Borrow(DType::kFloat32, shape, nothing, nothing.get())));
  TempDir dir;
  EXPECT_TRUE(testing::FailsWith(WriteOnnx(std::move(maker).Build(), dir / "m.onnx"),
                                 "at most 2147483647"));
}

}  // namespace
}  // namespace ashlar
