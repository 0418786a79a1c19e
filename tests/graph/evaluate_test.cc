#include "graph/evaluate.h"

#include <gtest/gtest.h>

#include "opr/elemwise.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Both outputs of -x and its exponential; the second operator reads the first output after it was
// declared.
Graph NegatedAndItsExponential() {
  GraphMaker make;
  const int negated = make.Add<Elemwise>({ScalarFunction::kNegate}, {make.Input("x", {2})}, "neg");
  make.Output(negated);
  make.Output(make.Add<Elemwise>({ScalarFunction::kExp}, {negated}, "exp"));
  return std::move(make).Build();
}

HostTensor OneAndTwo(const OperatorNode&) {
  return HostTensor::FromValues<float>(DType::kFloat32, {2}, {1, 2});
}

TEST(EvaluateNodes, OutputsStayAfterTheirLastReader) {
  std::vector<std::string> visited;
  const auto visit = [&](const Var& var, const HostTensor&) {
    visited.push_back(var.name);
    return absl::OkStatus();
  };
  const auto outputs = Value(EvaluateNodes(NegatedAndItsExponential(), OneAndTwo, visit));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_TRUE(Near(outputs[0], {-1, -2}, 0));
  EXPECT_TRUE(Near(outputs[1], {0.36787944, 0.13533528}, 1e-6));
  EXPECT_EQ(visited, (std::vector<std::string>{"neg", "exp"}));
}

TEST(EvaluateNodes, ErrorsEndTheEvaluation) {
  const Graph graph = NegatedAndItsExponential();
  const auto missing = [](const OperatorNode& node) -> absl::StatusOr<HostTensor> {
    return absl::NotFoundError(node.binding);
  };
  EXPECT_TRUE(FailsWith(EvaluateNodes(graph, missing).status(), "x"));
  int visits = 0;
  const auto refuse = [&](const Var& var, const HostTensor&) {
    ++visits;
    return absl::CancelledError(var.name);
  };
  EXPECT_TRUE(FailsWith(EvaluateNodes(graph, OneAndTwo, refuse).status(), "neg"));
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace ashlar::testing
