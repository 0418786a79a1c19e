// Tensors that share bytes: runs must give the same results as evaluation, which shares nothing.
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

// Expects the plan of a graph with input "x" to give the evaluated outputs.
void ExpectSame(const Graph& graph) {
  cpu::RegisterDevice();
  std::mt19937_64 random(1);
  const HostTensor x = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape, -1, 1);
  const std::vector<HostTensor> expected = Value(EvaluateGraph(graph, {{"x", x}}));
  PlanRequest request;
  request.planning.passes = "none";
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

// Adds rows [begin, end) of x.
int Rows(GraphMaker& make, int x, int64_t begin, int64_t end) {
  const auto bound = [&](int64_t value) {
    return make.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {&value, 1}));
  };
  return make.Add<Subtensor>({.axis = {0}, .begin = {1}, .end = {1}, .step = {0}, .idx = {0}},
                             {x, bound(begin), bound(end)});
}

// Regression: a slice of a concatenation died in a step that read it and, through a view of the
// whole, other rows of the same memory. The sum overwrote rows before they were read.
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

// Chains of functions and sums that end in concatenations. Some of these are nested, read twice,
// read in slices, or outputs.
TEST(Aliases, RandomGraphsOfChainsInConcatenations) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    GraphMaker make;
    std::vector<std::pair<int, int64_t>> vars = {{make.Input("x", {2, 50}), 2}};  // with their rows
    const auto add = [&](int var, int64_t rows) {
      if (below(8) == 0) make.Output(var);
      vars.emplace_back(var, rows);
    };
    for (int i = 0; i < 25; ++i) {
      // Mostly the latest var, which gives chains.
      const auto [x, rows] = vars[below(3) == 0 ? below(vars.size()) : vars.size() - 1];
      const auto [y, more] = vars[below(vars.size())];
      const size_t kind = below(5);
      if (kind == 0 && rows + more <= 12) {
        add(make.Add<Concat>({0}, {x, y}), rows + more);
      } else if (kind == 1 && rows == more) {
        add(make.Add<Elemwise>({ScalarFunction::kMax}, {x, y}), rows);
      } else if (kind == 2 && rows > 1) {
        const auto begin = static_cast<int64_t>(below(static_cast<size_t>(rows) - 1));
        add(Rows(make, x, begin, rows), rows - begin);
      } else {
        const bool negates = below(2) == 0;
        add(make.Add<Elemwise>({negates ? ScalarFunction::kNegate : ScalarFunction::kTanh}, {x}),
            rows);
      }
    }
    make.Output(make.Add<Elemwise>({ScalarFunction::kNegate}, {vars.back().first}, "y"));
    ExpectSame(std::move(make).Build());
  }
}

}  // namespace
}  // namespace ashlar::testing
