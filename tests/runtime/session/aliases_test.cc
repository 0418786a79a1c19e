// Tensors that share bytes: what runs gives the same as evaluation, where nothing is shared.
#include <gtest/gtest.h>

#include "opr/concat.h"
#include "opr/elemwise.h"
#include "opr/subtensor.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/session/session.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// What a plan of the graph, whose input is "x", gives for every output.
void ExpectSame(const Graph& graph) {
  cpu::RegisterDevice();
  std::mt19937_64 random(1);
  const HostTensor x = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape, -1, 1);
  const std::vector<HostTensor> expected = Value(EvaluateGraph(graph, {{"x", x}}));
  PlanRequest request;
  request.means.passes = "none";
  const auto session = Value(Session::Create(Value(Executable::Compile(graph, request))));
  ASSERT_TRUE(IsOk(session->BindInput("x", x.raw(), x.bytes())));
  std::vector<HostTensor> outputs;
  for (const HostTensor& tensor : expected) {
    outputs.push_back(HostTensor::Zeros(tensor.dtype(), tensor.shape()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_TRUE(IsOk(session->BindOutput(graph.outputs()[i].name, outputs[i].mutable_raw(),
                                         outputs[i].bytes())));
  }
  ASSERT_TRUE(IsOk(session->Run()));
  for (size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(Near(outputs[i], expected[i], 1e-6)) << i;
}

// Rows [begin, end).
int Rows(GraphMaker& make, int x, int64_t begin, int64_t end) {
  const auto bound = [&](int64_t value) {
    return make.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {&value, 1}));
  };
  return make.Add<Subtensor>({.axis = {0}, .begin = {1}, .end = {1}, .step = {0}, .idx = {0}},
                             {x, bound(begin), bound(end)});
}

// A part of a concatenation died in the step that read it and, through a view of the whole, rows
// of it: the sum was written over rows that were still to be read.
TEST(Aliases, APartIsNotOverwrittenWhileItsWholeIsRead) {
  for (const bool part_first : {true, false}) {
    SCOPED_TRACE(part_first);
    GraphMaker make;
    const int x = make.Input("x", {2, 50});
    const int a = make.Add<Elemwise>({ScalarFunction::kExp}, {x}, "a");
    const int b = make.Add<Elemwise>({ScalarFunction::kTanh}, {x}, "b");
    const int whole = make.Add<Concat>({0}, {b, a}, "whole");
    const int view = Rows(make, whole, 1, 3);
    const std::vector<int> operands = part_first ? std::vector{a, view} : std::vector{view, a};
    const int sum = make.Add<Elemwise>({ScalarFunction::kAdd}, operands, "sum");
    make.Output(make.Add<Elemwise>({ScalarFunction::kNegate}, {sum}, "y"));
    ExpectSame(std::move(make).Build());
  }
}

}  // namespace
}  // namespace ashlar::testing
