// Inputs that become constants, and conditions that depend on them.
#include <gmock/gmock.h>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

enum OnnxType { kFloat = 1, kInt64 = 7, kBool = 9 };

// Returns y = x * k, in floats.
std::string ScaledText(const std::string& input) {
  return ModelText(
      absl::StrCat("node { op_type: 'Cast' input: 'k' output: 'f' attribute { name: 'to' type: INT "
                   "i: 1 } } node { op_type: 'Mul' input: 'x' input: 'f' output: 'y' } input ",
                   input));
}

TEST(OnnxInputValue, ValuesHaveTheDtypeAndShapeOfTheInput) {
  const struct {
    std::string input;
    std::vector<double> numbers;
    std::string error;  // empty: no error
  } cases[] = {
      {ValueText("k", {}, kInt64), {3}, ""},
      {ValueText("k", {1}, kFloat), {0.5}, ""},
      {ValueText("k", {4, 1}, kInt64), {1, 2, 3, 4}, ""},
      {ValueText("k", {}, kBool), {1}, ""},
      {"{ name: 'k' type { tensor_type { elem_type: 7 } } }", {5}, ""},
      {"{ name: 'k' type { tensor_type { elem_type: 7 shape { dim { dim_param: 'n' } } } } }",
       {5, 6, 7, 8},
       ""},
      {ValueText("k", {}, kInt64), {0.5}, "input k is Int64{}, which does not hold the value 0.5"},
      {ValueText("k", {}, kBool), {2}, "which does not hold the value 2"},
      {ValueText("k", {}, kInt64), {1e30}, "which does not hold the value 1e+30"},
      {ValueText("k", {3}, kInt64), {1, 2}, "of 3 elements; got a value of 2 numbers"},
      {ValueText("k", {2}, kInt64), {1}, "of 2 elements; got a value of 1 number"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.input);
    const absl::StatusOr<Graph> graph =
        ReadText(ScaledText(test.input), {.numbers = {{"k", test.numbers}}});
    if (!test.error.empty()) {
      EXPECT_EQ(graph.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_TRUE(FailsWith(graph.status(), test.error));
      continue;
    }
    ASSERT_TRUE(IsOk(graph.status()));
    ASSERT_EQ(graph->inputs().size(), 1u);
    EXPECT_EQ(graph->inputs()[0].name, "x");
    HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 2, 4, 4});
    for (int64_t i = 0; i < 32; ++i) x.Set(i, 1);
    const std::vector<double> y = Values(Value(EvaluateGraph(*graph, {{"x", x}}))[0]);
    EXPECT_EQ(y[0], test.numbers[0]);
    EXPECT_EQ(y[31], test.numbers.back());
  }
  EXPECT_TRUE(FailsWith(
      ReadText(ScaledText(ValueText("k", {}, kInt64)), {.numbers = {{"j", {1}}}}).status(),
      "no input 'j'; the model has: k, x"));
}

// A weight among the file's inputs has a default, which a given value replaces.
TEST(OnnxInputValue, ReplacesAnInitializer) {
  const std::string text = ScaledText(absl::StrCat(
      ValueText("k", {}, kInt64), "initializer { name: 'k' data_type: 7 int64_data: [2] }"));
  const HostTensor x =
      HostTensor::FromValues<float>(DType::kFloat32, {1, 2, 4, 4}, std::vector<float>(32, 1));
  EXPECT_EQ(Values(Value(EvaluateGraph(Value(ReadText(text)), {{"x", x}}))[0])[0], 2);
  const Graph graph = Value(ReadText(text, {.numbers = {{"k", {7}}}}));
  EXPECT_EQ(Values(Value(EvaluateGraph(graph, {{"x", x}}))[0])[0], 7);
}

std::string Branch(const char* name, const char* op) {
  return absl::StrCat("attribute { name: '", name, "' type: GRAPH g { name: 'b' node { op_type: '",
                      op, "' input: 'x' output: 'z' } output { name: 'z' } } } ");
}

// Regression: the message did not say that the condition depends on an input.
TEST(OnnxInputValue, ConditionsNameTheInputsTheyDependOn) {
  // Their results have different ranks, so the run cannot choose between them.
  const std::string branches =
      absl::StrCat(Branch("then_branch", "Neg"), Branch("else_branch", "Flatten"));
  const std::string by_rate =
      absl::StrCat("initializer { name: 'c' data_type: 7 int64_data: [16000] } node { op_type: ",
                   "'Equal' input: 'sr' input: 'c' output: 'is' } node { op_type: 'If' input: ",
                   "'is' output: 'y' ", branches, "} input ", ValueText("sr", {}, kInt64));
  EXPECT_TRUE(FailsWith(
      ReadText(ModelText(by_rate)).status(),
      "the condition is not known before the run, as it depends on input sr; the command's "
      "--value sr=NUMBER, or `values` of the library, makes it known"));
  const struct {
    double rate;
    int rank;
  } cases[] = {{16000, 4}, {8000, 2}};
  for (const auto& test : cases) {
    const Graph graph = Value(ReadText(ModelText(by_rate), {.numbers = {{"sr", {test.rate}}}}));
    EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape.rank(), test.rank);
  }
  const std::string by_image =
      absl::StrCat("node { op_type: 'ReduceMax' input: 'x' output: 'm' attribute { name: ",
                   "'keepdims' type: INT i: 0 } } node { op_type: 'Cast' input: 'm' output: 'is' ",
                   "attribute { name: 'to' type: INT i: 9 } } node { op_type: 'If' input: 'is' ",
                   "output: 'y' ", branches, "}");
  const absl::Status status = ReadText(ModelText(by_image)).status();
  EXPECT_TRUE(FailsWith(status, "as it depends on input x"));
  EXPECT_THAT(std::string(status.message()), ::testing::Not(HasSubstr("--value")));
}

TEST(OnnxInputValue, ANoteSaysThatBothBranchesAreComputed) {
  const std::string text = ModelText(absl::StrCat(
      "node { op_type: 'Cast' input: 'sr' output: 'is' attribute { name: 'to' type: INT i: 9 } } ",
      "node { op_type: 'If' input: 'is' output: 'y' ", Branch("then_branch", "Neg"),
      Branch("else_branch", "Abs"), "} input ", ValueText("sr", {}, kInt64)));
  std::vector<std::string> notes;
  OnnxReadOptions options;
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const Graph graph = Value(ReadText(text, options));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("both branches are computed in every run, because the condition "
                                  "is not known before, as it depends on input sr; the command's "
                                  "--value sr=NUMBER, or `values` of the library, makes it known"));
  const HostTensor x =
      HostTensor::FromValues<float>(DType::kFloat32, {1, 2, 4, 4}, std::vector<float>(32, 3));
  HostTensor rate = HostTensor::Zeros(DType::kInt64, {});
  EXPECT_EQ(Values(Value(EvaluateGraph(graph, {{"x", x}, {"sr", rate}}))[0])[31], 3);
  rate.SetInteger(0, 1);
  EXPECT_EQ(Values(Value(EvaluateGraph(graph, {{"x", x}, {"sr", rate}}))[0])[31], -3);
}

}  // namespace
}  // namespace ashlar::testing
