// Graphs with their gradients on the CPU's kernels: they must equal host evaluation, in the memory
// planned.
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/reduce.h"
#include "opr/table.h"
#include "runtime/cpu/cpu_device.h"
#include "tests/runtime/inference.h"
#include "tests/support/sanitized.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::Infer;
using testing::Inference;
using testing::Value;

// Returns the graph with gradients by inputs and constants. The loss sums all elements of the
// outputs, each times a random weight.
Graph WithGradients(const Graph& source, std::mt19937_64& random) {
  GraphRewriter rewriter(source);
  GraphBuilder& builder = rewriter.builder();
  const auto add = [&](OperatorPtr op, std::vector<int> inputs) {
    return Value(builder.Add(std::move(op), std::move(inputs)))[0];
  };
  const auto apply = [&](ScalarFunction function, int a, int b) {
    return add(std::make_shared<const Elemwise>(ElemwiseParam{function}), {a, b});
  };
  std::vector<int> wrt;
  for (const OperatorNode& node : source.nodes()) {
    if (node.op->role() == Role::kOutput) continue;
    EXPECT_TRUE(testing::IsOk(rewriter.Copy(node)));
    if (node.op->role() != Role::kCompute) wrt.push_back(rewriter.Map(node.outputs[0]));
  }
  const int one = add(Operators().MakeConstant(testing::Int64Vector({1})), {});
  int loss = -1;
  for (const Binding& output : source.outputs()) {
    const int y = rewriter.Map(output.var);
    const int weights = add(
        Operators().MakeConstant(testing::RandomTensor(random, source.var(output.var).type.shape)),
        {});
    const int sum = add(std::make_shared<const Reduce>(ReduceParam()),
                        {apply(ScalarFunction::kMul, y, weights), one});
    loss = loss < 0 ? sum : apply(ScalarFunction::kAdd, loss, sum);
  }
  for (const std::optional<int>& gradient : Value(Differentiate(builder, loss, wrt, Operators()))) {
    if (gradient) add(std::make_shared<const OutputCallback>(OutputParam()), {*gradient});
  }
  return Value(std::move(rewriter).Finish());
}

TEST(Gradients, OnTheCpuAreThoseOfHostEvaluation) {
  cpu::RegisterDevice();
  const uint64_t graphs = testing::kSanitized ? 4 : 40;
  for (uint64_t seed = 0; seed < graphs; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph =
        WithGradients(testing::RandomImageGraph(random, /*joins=*/true, 20), random);
    const HostTensor input =
        testing::RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
    PlanRequest request;
    request.planning.planner.limits.work = 0;
    request.target.threads = 1 + static_cast<int>(seed % 2);
    const Inference run = Infer(graph, request, input);
    const std::vector<HostTensor> expected = Value(testing::Evaluate(graph, input));
    ASSERT_EQ(run.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(testing::RelativeError(run.outputs[i], expected[i]), 1e-4)
          << "gradient " << i << ", " << expected[i].shape().ToString();
    }
  }
}

}  // namespace
}  // namespace ashlar
