// Written models are read back and compute the same.
#include <random>

#include "opr/elemwise.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/session/bind_tensors.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "tests/cases/case_graph.h"
#include "tests/serialization/files.h"
#include "tests/serialization/sample_graphs.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tools/zoo/zoo.h"

namespace ashlar::testing {
namespace {

using Inputs = absl::flat_hash_map<std::string, HostTensor>;

Inputs RandomInputs(const Graph& graph, std::mt19937_64& random) {
  Inputs values;
  for (const Binding& input : graph.inputs()) {
    const TensorType& type = graph.var(input.var).type;
    values[input.name] = RandomTensor(random, type.dtype, type.shape, -2, 4);
  }
  return values;
}

// Compares the outputs of both graphs, by their references, one by one.
void ExpectSameOutputs(const Graph& before, const Graph& after, std::mt19937_64& random) {
  const Inputs inputs = RandomInputs(before, random);
  const std::vector<HostTensor> expected = Value(EvaluateGraph(before, inputs));
  const std::vector<HostTensor> actual = Value(EvaluateGraph(after, inputs));
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape());
    // ONNX outputs have no scale.
    EXPECT_EQ(actual[i].dtype(), StoredAs(expected[i].dtype()));
    EXPECT_TRUE(Near(actual[i], Values(expected[i]), 3e-5));  // sums of a thousand are rounded
  }
}

TEST(OnnxRoundTrip, SampleGraphs) {
  TempDir dir;
  std::mt19937_64 random(3);
  for (const SampleGraph& sample : SampleGraphs()) {
    SCOPED_TRACE(sample.name);
    ASSERT_TRUE(IsOk(WriteOnnx(sample.graph, dir / "m.onnx")));
    ExpectSameOutputs(sample.graph, Value(ReadOnnx(dir / "m.onnx")), random);
  }
}

TEST(OnnxRoundTrip, CasesOfEveryOperator) {
  TempDir dir;
  std::mt19937_64 random(4);
  int read = 0;
  ForEachCaseGraph(33, [&](const KernelCase& test, const CaseGraph& whole) {
    SCOPED_TRACE(::testing::Message()
                 << test.name << ": " << test.op->type() << " " << ToString(test.op->params()));
    if (!WriteOnnx(whole.graph, dir / "m.onnx").ok()) return;
    const absl::StatusOr<Graph> graph = ReadOnnx(dir / "m.onnx");
    ASSERT_TRUE(IsOk(graph.status()));
    ExpectSameOutputs(whole.graph, *graph, random);
    ++read;
  });
  EXPECT_GE(read, 100);
}

// Regression: conversions between integers were written with a clamp, and saturated instead of
// wrapping around.
TEST(OnnxRoundTrip, ConversionsBetweenIntegersWrapAround) {
  const std::vector<int64_t> numbers = {-9, 300, -129, 255, 0, (int64_t{1} << 32) + 5};
  HostTensor x = HostTensor::Zeros(DType::kInt64, {6});
  for (size_t i = 0; i < numbers.size(); ++i) x.SetInteger(static_cast<int64_t>(i), numbers[i]);
  const std::vector<std::pair<DType, std::vector<double>>> cases = {
      {DType::kUint8, {247, 44, 127, 255, 0, 5}},
      {DType::kInt8, {-9, 44, 127, -1, 0, 5}},
      {DType::kInt32, {-9, 300, -129, 255, 0, 5}}};
  TempDir dir;
  for (const auto& [to, expected] : cases) {
    SCOPED_TRACE(Name(to));
    GraphMaker maker;
    maker.Output(maker.Add<TypeCvt>({to}, {maker.Input("x", {6}, DType::kInt64)}, "y"));
    ASSERT_TRUE(IsOk(WriteOnnx(std::move(maker).Build(), dir / "m.onnx")));
    const Graph graph = Value(ReadOnnx(dir / "m.onnx"));
    EXPECT_TRUE(Near(Value(EvaluateGraph(graph, {{"x", x}}))[0], expected, 0));
  }
}

// A ReLU of integers was not written at all.
TEST(OnnxRoundTrip, ReluOfIntegersIsTheSame) {
  TempDir dir;
  std::mt19937_64 random(1);
  for (const DType dtype : kIntegerDTypes) {
    SCOPED_TRACE(Name(dtype));
    const HostTensor x = AnyIntegers(random, dtype, {40});
    GraphMaker maker;
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kRelu}, {maker.Input("x", {40}, dtype)}));
    ASSERT_TRUE(IsOk(WriteOnnx(std::move(maker).Build(), dir / "m.onnx")));
    const HostTensor y = Value(EvaluateGraph(Value(ReadOnnx(dir / "m.onnx")), {{"x", x}}))[0];
    ASSERT_EQ(y.dtype(), dtype);
    for (int64_t i = 0; i < 40; ++i) {
      const int64_t least = IsUnsigned(dtype) ? x.IntegerAt(i) : 0;
      EXPECT_EQ(y.IntegerAt(i), std::max<int64_t>(x.IntegerAt(i), least));
    }
  }
}

HostTensor RunOnTheCpu(const Graph& graph, const HostTensor& image) {
  cpu::RegisterDevice();
  const auto executable = Value(Executable::Compile(graph, PlanRequest()));
  const auto session = Value(Session::Create(executable));
  const std::vector<HostTensor> outputs =
      Value(BindTensors(*session, {{graph.inputs()[0].name, image}}));
  EXPECT_TRUE(IsOk(session->Run()));
  return outputs[0];
}

// Its first dimension is computed from the shape before.
TEST(OnnxRoundTrip, AFlattenedBatchStaysOpen) {
  TempDir dir;
  ASSERT_TRUE(IsOk(WriteOnnx(Value(BuildResNet18({.image = 64})), dir / "m.onnx")));
  const Graph three = Value(ReadOnnx(dir / "m.onnx", {.shapes = {{"data", {3, 3, 64, 64}}}}));
  EXPECT_EQ(three.var(three.outputs()[0].var).type.shape, Shape({3, 1000}));
}

TEST(OnnxRoundTrip, Zoo) {
  TempDir dir;
  std::mt19937_64 random(5);
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.name);
    ZooOptions options;
    options.image = 64;
    options.headless = true;
    const Graph graph = Value(model.build(options));
    ASSERT_TRUE(IsOk(WriteOnnx(graph, dir / "m.onnx")));
    const Graph again = Value(ReadOnnx(dir / "m.onnx"));
    EXPECT_EQ(again.inputs()[0].name, graph.inputs()[0].name);
    EXPECT_EQ(again.outputs()[0].name, graph.outputs()[0].name);
    const HostTensor image = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
    EXPECT_LE(LargestDifference(RunOnTheCpu(again, image), RunOnTheCpu(graph, image)), 1e-5);
  }
}

}  // namespace
}  // namespace ashlar::testing
