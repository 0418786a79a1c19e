// A fixture for tests of passes: builds a graph and compares the rewritten one with expectations.
#ifndef ASHLAR_TESTS_GRAPH_PASSES_PASS_TEST_H_
#define ASHLAR_TESTS_GRAPH_PASSES_PASS_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "opr/elemwise.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

// A node's name, and the letters of its output and its inputs: "a=bc".
using NodeLetters = std::vector<std::pair<std::string, std::string>>;

class PassTest : public ::testing::Test {
 protected:
  int Random(const Shape& shape, double low = -1, double high = 1) {
    return make_.Constant(RandomTensor(random_, shape, low, high));
  }
  int Elem(ScalarFunction mode, std::vector<int> inputs, const std::string& name = "") {
    return make_.Add<Elemwise>({mode}, std::move(inputs), name);
  }

  // Expects the same outputs from both graphs for `x`.
  static void ExpectSameOutputs(const Graph& before, const Graph& after, const HostTensor& x,
                                double tolerance) {
    const std::vector<HostTensor> expected = Value(EvaluateGraph(before, {{"x", x}}));
    const std::vector<HostTensor> actual = Value(EvaluateGraph(after, {{"x", x}}));
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(Near(actual[i], expected[i], tolerance));
    }
  }

  static void ExpectLetters(const Graph& graph, const NodeLetters& expected,
                            absl::FunctionRef<std::string(const TensorType&)> letter) {
    for (const auto& [name, letters] : expected) {
      std::string actual = "no such node";
      for (const OperatorNode& node : graph.nodes()) {
        if (node.name != name) continue;
        actual = absl::StrCat(letter(graph.var(node.outputs[0]).type), "=");
        for (int input : node.inputs) actual += letter(graph.var(input).type);
        break;
      }
      EXPECT_EQ(actual, letters) << name;
    }
  }

  std::mt19937_64 random_{5};
  GraphMaker make_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_GRAPH_PASSES_PASS_TEST_H_
