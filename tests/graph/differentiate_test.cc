#include "graph/differentiate.h"

#include <gtest/gtest.h>

#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/grid_sample.h"
#include "opr/host_io.h"
#include "opr/reduce.h"
#include "opr/resize.h"
#include "opr/table.h"
#include "opr/type_cvt.h"
#include "tests/support/gradcheck.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using F = ScalarFunction;

class DifferentiateTest : public ::testing::Test {
 protected:
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs, const std::string& name = "") {
    GraphBuilder::NodeOptions options;
    options.name = name;
    return Value(
        builder_.Add(std::make_shared<const Op>(std::move(param)), std::move(inputs), options))[0];
  }
  int Apply(F function, std::vector<int> inputs) {
    return Add<Elemwise>({function}, std::move(inputs));
  }
  int Input(const Shape& shape) { return AddInput(builder_, shape); }
  int Total(int var) {
    const HostTensor one = Int64Vector({1});
    return Add<Reduce>({}, {var, Value(builder_.Add(Operators().MakeConstant(one), {}))[0]});
  }
  absl::StatusOr<std::vector<std::optional<int>>> Differentiated(int loss, std::vector<int> wrt) {
    return Differentiate(builder_, loss, wrt, Operators());
  }
  // Returns the values of vars if each input, in order, has one of `values`.
  std::vector<HostTensor> Evaluated(const std::vector<int>& vars,
                                    const std::vector<HostTensor>& values) {
    GraphBuilder builder = builder_;
    for (size_t i = 0; i < vars.size(); ++i) {
      GraphBuilder::NodeOptions options;
      options.binding = absl::StrCat("y", i);
      Value(builder.Add(Value(Operators().Make("OutputCallback", {})), {vars[i]}, options));
    }
    const Graph graph = Value(std::move(builder).Build());
    absl::flat_hash_map<std::string, HostTensor> inputs;
    for (size_t i = 0; i < values.size(); ++i) inputs[graph.inputs()[i].name] = values[i];
    return Value(EvaluateGraph(graph, inputs));
  }
  // Returns how many nodes have a type.
  static int Count(const Graph& graph, absl::string_view type) {
    int count = 0;
    for (const OperatorNode& node : graph.nodes()) count += node.op->type() == type;
    return count;
  }

  GraphBuilder builder_;
};

HostTensor Doubles(std::vector<double> values) {
  return HostTensor::FromValues<double>(DType::kFloat64, {static_cast<int64_t>(values.size())},
                                        values);
}

TEST_F(DifferentiateTest, SeveralReadersAreSummed) {
  const int x = Input({3});
  const int squares = Apply(F::kMul, {x, x});
  const int loss = Total(Apply(F::kAdd, {Apply(F::kMul, {squares, x}), x}));  // x^3 + x
  const auto gradients = Value(Differentiated(loss, {x, squares}));
  const auto values = Evaluated({*gradients[0], *gradients[1]}, {Doubles({1, -2, 3})});
  EXPECT_TRUE(Near(values[0], {4, 13, 28}, 1e-15));
  EXPECT_TRUE(Near(values[1], {1, -2, 3}, 1e-15));
}

TEST_F(DifferentiateTest, TheLossByItselfIsOne) {
  const int loss = Input({1});
  const auto gradients = Value(Differentiated(loss, {loss}));
  EXPECT_TRUE(Near(Evaluated({*gradients[0]}, {Doubles({7})})[0], {1}, 0));
}

TEST_F(DifferentiateTest, WhatTheLossDoesNotDependOnHasAnEmptyGradient) {
  const int x = Input({2}), unread = Input({2}), floored = Input({2});
  const int behind = Apply(F::kExp, {x});
  const int loss = Total(Apply(F::kMul, {x, Apply(F::kFloor, {floored})}));
  const auto gradients = Value(Differentiated(loss, {x, unread, behind, floored}));
  EXPECT_TRUE(gradients[0].has_value());
  EXPECT_FALSE(gradients[1].has_value()) << "nobody reads it";
  EXPECT_FALSE(gradients[2].has_value()) << "it lies beside the way to the loss";
  EXPECT_FALSE(gradients[3].has_value()) << "its gradient is zero";
}

TEST_F(DifferentiateTest, WholeNumbersStopGradients) {
  const int x = Input({2});
  const int whole = Add<TypeCvt>({DType::kInt64}, {x});
  const int loss = Total(Add<TypeCvt>({DType::kFloat64}, {whole}));
  EXPECT_FALSE(Value(Differentiated(loss, {x}))[0].has_value());
}

TEST_F(DifferentiateTest, OnlyWhatIsAskedForIsMade) {
  const int x = Input({2, 3}), w = Input({3, 2});
  const int loss = Total(Apply(F::kMul, {x, x}));
  const size_t nodes = builder_.graph().nodes().size();
  EXPECT_FALSE(Value(Differentiated(loss, {w}))[0].has_value());
  EXPECT_EQ(builder_.graph().nodes().size(), nodes);
}

TEST_F(DifferentiateTest, AFiltersGradientComesBeforeThatOfTheImage) {
  const int x = Input({1, 2, 5, 5}), filter = Input({2, 2, 3, 3});
  const int loss = Total(Add<ConvolutionForward>({}, {x, filter}));
  const auto gradients = Value(Differentiated(loss, {x, filter}));
  EXPECT_LT(*gradients[1], *gradients[0]);
}

TEST_F(DifferentiateTest, AnImageThatNobodyAsksForHasNoGradient) {
  const int x = Input({1, 2, 5, 5}), filter = Input({2, 2, 3, 3});
  const int loss = Total(Add<ConvolutionForward>({}, {x, filter}));
  EXPECT_TRUE(Value(Differentiated(loss, {filter}))[0].has_value());
  EXPECT_EQ(Count(builder_.graph(), "ConvolutionBackwardFilter"), 1);
  EXPECT_EQ(Count(builder_.graph(), "ConvolutionBackwardData"), 0);
}

// A Resize is linear: nothing reads the forward results of its composition.
TEST_F(DifferentiateTest, OfACompositionOnlyTheWayBackStays) {
  const int x = Input({1, 1, 3, 3});
  const HostTensor sizes = Int64Vector({6, 6});
  const int target = Value(builder_.Add(Operators().MakeConstant(sizes), {}))[0];
  ResizeParam linear;
  linear.axes = {2, 3};
  linear.mode = ResizeMode::kLinear;
  const int resized = Add<Resize>(linear, {x, target});
  const auto gradients = Value(Differentiated(Total(resized), {x}));
  Add<OutputCallback>({}, {*gradients[0]});
  const Graph graph = Value(Prune(Value(std::move(builder_).Build())));
  EXPECT_EQ(Count(graph, "Resize"), 0);
  EXPECT_EQ(Count(graph, "MatrixMul"), 2) << "one for each axis";
}

TEST_F(DifferentiateTest, AllOperatorsWithoutARuleAreNamedAtOnce) {
  const int x = Input({1, 1, 3, 3}), grid = Input({1, 2, 2, 2});
  const int first = Add<GridSample>({}, {x, grid}, "first");
  const int second = Add<GridSample>({}, {Apply(F::kExp, {first}), grid}, "second");
  const absl::Status status = Differentiated(Total(second), {x}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(FailsWith(status, "no gradient is known of second (GridSample"));
  EXPECT_TRUE(FailsWith(status, "first (GridSample"));
}

TEST_F(DifferentiateTest, RulesThatAreNotOnTheWayDoNotMatter) {
  const int x = Input({1, 1, 3, 3}), grid = Input({1, 2, 2, 2});
  const int sampled = Add<GridSample>({}, {x, grid});
  const int loss = Total(Apply(F::kMul, {Apply(F::kExp, {x}), x}));
  const int beside = Total(sampled);
  EXPECT_TRUE(Value(Differentiated(loss, {x}))[0].has_value());
  EXPECT_FALSE(Differentiated(beside, {x}).ok());
}

TEST_F(DifferentiateTest, AGradientThatIsGivenIsPassedBack) {
  const int x = Input({3}), g = Input({3});
  const int y = Apply(F::kMul, {Apply(F::kMul, {x, x}), x});
  const auto back = [&](int output, int gradient) {
    return BackPropagate(builder_, output, gradient, {x}, Operators());
  };
  const std::vector<HostTensor> values =
      Evaluated({*Value(back(y, g))[0]}, {Doubles({1, 2, -3}), Doubles({1, 0, 0.5})});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values[0].At(i), (std::vector<double>{3, 0, 13.5})[i]) << i;
  const int other = Input({2});
  EXPECT_TRUE(FailsWith(back(y, other).status(),
                        "the gradient by the output is Float64{2}, expected Float64{3}"));
  EXPECT_TRUE(FailsWith(back(-1, g).status(), "the output is no var, expected a var of floats"));
}

TEST_F(DifferentiateTest, RefusesWhatHasNoGradient) {
  const int x = Input({2});
  const int loss = Total(x);
  const int whole = Add<TypeCvt>({DType::kInt32}, {x});
  EXPECT_TRUE(FailsWith(Differentiated(x, {x}).status(),
                        "the loss is Float64{2}, expected one element of floats"));
  EXPECT_TRUE(FailsWith(Differentiated(loss, {whole}).status(),
                        "a gradient by Int32{2}, expected a var of floats"));
  EXPECT_TRUE(FailsWith(Differentiated(1000, {x}).status(), "the loss is no var"));
  EXPECT_TRUE(FailsWith(Differentiated(loss, {-1}).status(), "a gradient by no var"));
}

}  // namespace
}  // namespace ashlar::testing
