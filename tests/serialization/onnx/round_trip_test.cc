// What is written comes in again and computes the same.
#include <random>

#include "runtime/cpu/cpu_device.h"
#include "runtime/session/bind_tensors.h"
#include "serialization/onnx/reader.h"
#include "serialization/onnx/writer.h"
#include "tests/cases/case_graph.h"
#include "tests/serialization/files.h"
#include "tests/serialization/sample_graphs.h"
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

// The outputs of both graphs by their references, one by one.
void ExpectSameOutputs(const Graph& before, const Graph& after, std::mt19937_64& random) {
  const Inputs inputs = RandomInputs(before, random);
  const std::vector<HostTensor> expected = Value(EvaluateGraph(before, inputs));
  const std::vector<HostTensor> actual = Value(EvaluateGraph(after, inputs));
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape());
    // 16-bit floats come in as Float32, and an output of ONNX has no scale.
    const DType dtype = expected[i].dtype();
    EXPECT_EQ(actual[i].dtype(), IsFloat(dtype) ? DType::kFloat32 : StoredAs(dtype));
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

HostTensor RunOnTheCpu(const Graph& graph, const HostTensor& image) {
  cpu::RegisterDevice();
  const auto executable = Value(Executable::Compile(graph, PlanRequest()));
  const auto session = Value(Session::Create(executable));
  const std::vector<HostTensor> outputs =
      Value(BindTensors(*session, {{graph.inputs()[0].name, image}}));
  EXPECT_TRUE(IsOk(session->Run()));
  return outputs[0];
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
