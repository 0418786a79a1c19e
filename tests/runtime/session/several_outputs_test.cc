// Split, an operator with two outputs, from graph to run.
#include <gtest/gtest.h>

#include "graph/tiling/tile.h"
#include "opr/elemwise.h"
#include "opr/split.h"
#include "opr/table.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/session.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Returns x -> EXP -> halves along an axis -> ADD of one half to TANH of the other.
Graph WithHalves(const Shape& shape, int axis = 0) {
  GraphMaker make;
  const int x = make.Input("x", shape);
  const int exp = make.Add<Elemwise>({ScalarFunction::kExp}, {x});
  const int64_t half = shape[axis] / 2;
  const int first = make.Add<Split>({axis, {half, half}}, {exp}, "halves");
  const int tanh = make.Add<Elemwise>({ScalarFunction::kTanh}, {first + 1});
  make.Output(make.Add<Elemwise>({ScalarFunction::kAdd}, {first, tanh}, "sum"));
  return std::move(make).Build();
}

int NodeNamed(const Graph& graph, absl::string_view name) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.node(static_cast<int>(i)).name == name) return static_cast<int>(i);
  }
  return -1;
}

// Runs the plan on one input and compares it with the evaluation.
void ExpectSum(const Graph& graph, const std::shared_ptr<const Executable>& executable) {
  std::mt19937_64 random(1);
  const HostTensor x = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape, -2, 2);
  HostTensor sum = HostTensor::Zeros(DType::kFloat32, graph.var(graph.outputs()[0].var).type.shape);
  const auto session = Value(Session::Create(executable));
  ASSERT_TRUE(IsOk(session->BindInput("x", x.raw(), x.bytes())));
  ASSERT_TRUE(IsOk(session->BindOutput("sum", sum.mutable_raw(), sum.bytes())));
  ASSERT_TRUE(IsOk(session->Run()));
  EXPECT_TRUE(Near(sum, Value(EvaluateGraph(graph, {{"x", x}}))[0], 1e-5));
}

TEST(SeveralOutputs, AreViewsThatNothingIsCopiedFor) {
  cpu::RegisterDevice();
  const Shape shape = {4, 16, 4, 4};
  const Graph graph = WithHalves(shape);
  const auto executable = Value(Executable::Compile(graph, {}));
  const PlannedGraph& planned = executable->planned();
  const int halves = NodeNamed(planned.graph, "halves");
  ASSERT_GE(halves, 0);
  EXPECT_TRUE(planned.model.writes[halves].empty());
  EXPECT_EQ(planned.kernels[halves], nullptr);

  // EXP and, half as large, TANH; the sum is the caller's.
  EXPECT_EQ(planned.plan.plan.arena, shape.num_elements() * 4 * 3 / 2);

  ExpectSum(graph, executable);
}

TEST(SeveralOutputs, AreCopiedWhereTheyLieInPieces) {
  cpu::RegisterDevice();
  for (const int axis : {1, 2, 3}) {
    SCOPED_TRACE(axis);
    const Graph graph = WithHalves({4, 6, 4, 10}, axis);
    ExpectSum(graph, Value(Executable::Compile(graph, {})));
  }
}

// Regression: outputs in the same memory overwrote each other.
TEST(SeveralOutputs, MayNotOverlap) {
  cpu::RegisterDevice();
  GraphMaker make;
  const int x = make.Input("x", {8});
  make.Output(make.Add<Elemwise>({ScalarFunction::kExp}, {x}, "a"));
  make.Output(make.Add<Elemwise>({ScalarFunction::kTanh}, {x}, "b"));
  const auto session =
      Value(Session::Create(Value(Executable::Compile(std::move(make).Build(), {}))));
  alignas(64) const float values[8] = {};
  alignas(64) float memory[32];
  ASSERT_TRUE(IsOk(session->BindInput("x", values, sizeof(values))));
  for (const auto& [a, b, apart] :
       {std::tuple(0, 0, false), {0, 16, true}, {16, 16, false}, {16, 0, true}}) {
    ASSERT_TRUE(IsOk(session->BindOutput("a", memory + a, sizeof(values))));
    ASSERT_TRUE(IsOk(session->BindOutput("b", memory + b, sizeof(values))));
    const absl::Status run = session->Run();
    EXPECT_TRUE(apart ? IsOk(run) : FailsWith(run, "outputs 'a' and 'b' are bound to memory"));
  }
}

// A tiled segment cannot extend beyond it; searches for small plans still find tiles around it.
TEST(SeveralOutputs, EndATiledSegment) {
  cpu::RegisterDevice();
  const Graph graph = WithHalves({4, 16, 4, 4});
  const int last = graph.node(NodeNamed(graph, "sum")).id;
  const TileSpec spec =
      Value(TileSpec::Parse(absl::StrCat(graph.node(0).id, "-", last, ":batch2")));
  EXPECT_TRUE(FailsWith(Tile(graph, spec, {}, Operators()).status(), "halves has several outputs"));
  PlanRequest request;
  request.target.budget = MemoryBudget{};
  EXPECT_TRUE(IsOk(PlanGraph(graph, request).status()));
}

}  // namespace
}  // namespace ashlar::testing
