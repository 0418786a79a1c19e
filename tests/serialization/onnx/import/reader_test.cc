// Properties that models may state in several ways, and how the reader interprets them.
#include "serialization/onnx/import/reader.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>
#include <tuple>

#include "serialization/input_shapes.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/supported.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OnnxReader : public ::testing::Test {
 protected:
  absl::StatusOr<Graph> Read(const std::string& text, OnnxReadOptions options = {}) {
    WriteWholeFile(dir_ / "m.onnx", Serialized(text));
    options.note = [this](const std::string& note) { notes_.push_back(note); };
    return ReadOnnx(dir_ / "m.onnx", options);
  }
  // Returns the output for x = 0, 1, 2, ..., 31.
  std::vector<double> Run(const Graph& graph) {
    std::vector<float> values(32);
    std::iota(values.begin(), values.end(), 0.0f);
    const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {1, 2, 4, 4}, values);
    return Values(Value(EvaluateGraph(graph, {{"x", x}}))[0]);
  }

  TempDir dir_;
  std::vector<std::string> notes_;
};

TEST_F(OnnxReader, NamesAreTheFilesOwn) {
  const Graph graph =
      Value(Read(ModelText("node { op_type: 'Exp' name: 'first' input: 'x' output: "
                           "'a' } node { op_type: 'Relu' input: 'a' output: 'y' }")));
  EXPECT_EQ(graph.inputs()[0].name, "x");
  EXPECT_EQ(graph.outputs()[0].name, "y");
  EXPECT_THAT(ComputingTypes(graph), ElementsAre("Elemwise", "Elemwise"));
  EXPECT_EQ(graph.node(1).name, "first");
  EXPECT_EQ(graph.var(graph.node(1).outputs[0]).name, "a");
  EXPECT_EQ(graph.node(2).name, "y");  // a node without a name gets its output's
}

TEST_F(OnnxReader, NodesMayBeUnsortedAndUnused) {
  const Graph graph =
      Value(Read(ModelText("node { op_type: 'Neg' input: 'b' output: 'y' } "
                           "node { op_type: 'Nonsense' input: 'x' output: 'z' } "
                           "node { op_type: 'Relu' input: 'x' output: 'b' }")));
  EXPECT_EQ(Run(graph)[31], -31);
}

// An idiom of exporters: the batch is read from the input's shape.
TEST_F(OnnxReader, ShapeArithmeticIsFolded) {
  const Graph graph =
      Value(Read(ModelText(IntsText("axes", {0}) + IntsText("rest", {-1}) +
                           "initializer { name: 'zero' data_type: 7 int64_data: 0 } "
                           "node { op_type: 'Relu' input: 'x' output: 'r' } "
                           "node { op_type: 'Shape' input: 'r' output: 's' } "
                           "node { op_type: 'Gather' input: ['s', 'zero'] output: 'n' } "
                           "node { op_type: 'Unsqueeze' input: ['n', 'axes'] output: 'u' } "
                           "node { op_type: 'Concat' input: ['u', 'rest'] output: 'c' attribute { "
                           "name: 'axis' type: INT "
                           "i: 0 } } node { op_type: 'Reshape' input: ['r', 'c'] output: 'y' }")));
  EXPECT_THAT(ComputingTypes(graph), ElementsAre("Elemwise", "Reshape"));
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape, (Shape{1, 32}));
}

TEST_F(OnnxReader, ConditionsThatAreKnownAreTaken) {
  for (const int condition : {0, 1}) {
    const Graph graph = Value(Read(ModelText(absl::StrCat(
        "initializer { name: 'c' data_type: 9 int32_data: ", condition,
        " } node { op_type: 'If' input: 'c' output: 'y' attribute { name: 'then_branch' type: "
        "GRAPH "
        "g { node { op_type: 'Neg' input: 'x' output: 't' } output { name: 't' } } } attribute { "
        "name: 'else_branch' type: GRAPH g { node { op_type: 'Nonsense' input: 'x' output: 'z' } "
        "output { name: 'x' } } } }"))));
    EXPECT_EQ(Run(graph)[31], condition == 1 ? -31 : 31);
  }
}

TEST_F(OnnxReader, FunctionsAreInlined) {
  const std::string function =
      "opset_import { domain: 'd' version: 1 } functions { name: 'F' domain: 'd' input: 'a' input: "
      "'b' output: 'c' attribute: 'low' opset_import { version: 17 } node { op_type: 'LeakyRelu' "
      "input: 'a' output: 'l' attribute { name: 'alpha' type: FLOAT ref_attr_name: 'low' } } node "
      "{ "
      "op_type: 'Clip' input: ['l', 'b'] output: 'c' } }";
  const std::string call = "node { op_type: 'F' domain: 'd' input: 'n' output: 'y' ";
  const std::string negated = "node { op_type: 'Neg' input: 'x' output: 'n' } ";
  const std::string low = "attribute { name: 'low' type: FLOAT f: 0.5 } ";
  EXPECT_EQ(Run(Value(Read(ModelText(negated + call + low + "}", 17, function))))[30], -15);
  // Without the attribute, the inner attribute has its default.
  EXPECT_NEAR(Run(Value(Read(ModelText(negated + call + "}", 17, function))))[30], -0.3, 1e-6);
}

TEST_F(OnnxReader, FunctionsWithDefaultsThatTheSchemaLacksAreRefused) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(Serialized(ModelText(
      "node { op_type: 'F' domain: 'd' input: 'x' output: 'y' }", 17,
      "opset_import { domain: 'd' version: 1 } functions { name: 'F' domain: 'd' input: 'a' "
      "output: "
      "'b' opset_import { version: 17 } node { op_type: 'Relu' input: 'a' output: 'b' } }"))));
  google::protobuf::UnknownFieldSet* fields = model.GetReflection()->MutableUnknownFields(&model);
  fields->AddVarint(99, 1);  // of the model: ignored
  onnx::FunctionProto& function = *model.mutable_functions(0);
  WriteWholeFile(dir_ / "m.onnx", model.SerializeAsString());
  EXPECT_TRUE(IsOk(ReadOnnx(dir_ / "m.onnx").status()));
  function.GetReflection()->MutableUnknownFields(&function)->AddLengthDelimited(11, "");
  WriteWholeFile(dir_ / "m.onnx", model.SerializeAsString());
  const absl::Status status = ReadOnnx(dir_ / "m.onnx").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(FailsWith(status, "defaults of attributes"));
}

TEST_F(OnnxReader, InitializersAmongTheInputsAreWeightsUntilTheyAreBound) {
  const std::string text =
      ModelText("initializer { name: 'w' data_type: 1 dims: 1 float_data: 2 } input " +
                ValueText("w", {1}) + "node { op_type: 'Mul' input: ['x', 'w'] output: 'y' }");
  EXPECT_EQ(Value(Read(text)).inputs().size(), 1u);
  EXPECT_EQ(Run(Value(Read(text)))[3], 6);
  EXPECT_EQ(Value(Read(text, {.shapes = {{"w", {1}}}})).inputs().size(), 2u);
}

TEST_F(OnnxReader, OutputsMayBeCutListedTwiceOrInputs) {
  const std::string nodes =
      "node { op_type: 'Relu' input: 'x' output: 'r' } node { op_type: 'Nonsense' input: 'r' "
      "output: "
      "'y' } ";
  EXPECT_FALSE(Read(ModelText(nodes)).ok());
  const Graph graph = Value(Read(ModelText(nodes), {.outputs = {"r", "x", "r"}}));
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[0].name, "r");
  EXPECT_EQ(graph.outputs()[1].name, "x");
  const absl::Status unknown = Read(ModelText(nodes), {.outputs = {"z"}}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(FailsWith(unknown, "no value and no node 'z'"));
}

TEST_F(OnnxReader, OutputsMayBeNodesAndNearNamesAreSuggested) {
  const std::string nodes =
      "node { name: '/act' op_type: 'Relu' input: 'x' output: '/act_output_0' } node { op_type: "
      "'Neg' input: '/act_output_0' output: 'y' } ";
  const Graph graph = Value(Read(ModelText(nodes), {.outputs = {"/act"}}));
  ASSERT_EQ(graph.outputs().size(), 1u);
  EXPECT_EQ(graph.outputs()[0].name, "/act_output_0");
  const absl::Status unknown = Read(ModelText(nodes), {.outputs = {"ACT_output"}}).status();
  EXPECT_TRUE(FailsWith(unknown, "lists nodes): /act_output_0, "));
  // Regression: of a misspelt name the first in the alphabet were listed.
  const std::string many =
      "node { name: '/m/Add' op_type: 'Relu' input: 'x' output: 'a0' } "
      "node { name: '/m/Concat' op_type: 'Relu' input: 'a0' output: 'a1' } "
      "node { name: '/m/Concat_5' op_type: 'Relu' input: 'a1' output: 'a2' } "
      "node { name: '/m/Concat_6' op_type: 'Relu' input: 'a2' output: '/m/Concat_6_output_0' } "
      "node { name: '/m/Conv_6' op_type: 'Neg' input: '/m/Concat_6_output_0' output: 'y' } ";
  for (const char* typed : {"/m/Concta_6", "Concta_6", "/m/concat-6", "/n/Concat_6", "Comcat_6"}) {
    EXPECT_TRUE(FailsWith(Read(ModelText(many), {.outputs = {typed}}).status(),
                          "lists nodes): /m/Concat_6, "))
        << typed;
  }
}

TEST_F(OnnxReader, NotesSayWhatAUserShouldKnow) {
  const std::string text =
      "ir_version: 8 opset_import { version: 13 } graph { node { op_type: 'Relu' input: 'x' "
      "output: "
      "'y' } input { name: 'x' type { tensor_type { elem_type: 10 shape { dim { dim_param: 'n' } "
      "dim "
      "{ dim_value: 3 } } } } } output " +
      ValueText("y", {7, 3}, 10) + "}";
  const Graph graph = Value(Read(text));
  EXPECT_EQ(graph.var(graph.inputs()[0].var).type.ToString(), "Float16{1,3}");
  ASSERT_EQ(notes_.size(), 3u);
  EXPECT_THAT(notes_[0], HasSubstr("the first dimension is not fixed; it is 1"));
  EXPECT_THAT(notes_[1], HasSubstr("declares 'y' as {7,3}; it is {1,3}"));
  EXPECT_THAT(notes_[2], HasSubstr("float16 is computed as Float32"));
}

TEST_F(OnnxReader, TensorsAreReadFromEveryField) {
  const struct {
    const char* tensor;
    std::vector<double> values;
  } kTensors[] = {
      {"data_type: 1 dims: 2 float_data: [1.5, -2]", {1.5, -2}},
      {"data_type: 1 dims: 1 raw_data: '\\000\\000\\300\\077'", {1.5}},
      {"data_type: 11 dims: 2 double_data: [1.5, -2]", {1.5, -2}},
      {"data_type: 10 dims: 2 int32_data: [15872, 49152]", {1.5, -2}},
      {"data_type: 16 dims: 1 int32_data: 16320", {1.5}},
      {"data_type: 10 dims: 1 raw_data: '\\000\\076'", {1.5}},
      {"data_type: 1 float_data: 3", {3}},
  };
  for (const auto& test : kTensors) {
    SCOPED_TRACE(test.tensor);
    const Graph graph = Value(
        Read(ModelText(absl::StrCat("initializer { name: 'w' ", test.tensor,
                                    " } node { op_type: 'Identity' input: 'w' output: 'y' }"))));
    EXPECT_EQ(Run(graph), test.values);
  }
}

// Regression: they were computed through Float32.
TEST_F(OnnxReader, PowersOfIntegersAreExact) {
  const auto number = [](const char* name, int64_t value) {
    return absl::StrCat("initializer { name: '", name, "' data_type: 7 int64_data: ", value, " } ");
  };
  const std::string pow = "node { op_type: 'Pow' input: ['a', 'b'] output: 'y' } ";
  const struct {
    int64_t base, exponent, power;
  } kPowers[] = {{3, 35, 50031545098999707},
                 {-7, 3, -343},
                 {5, 0, 1},
                 {0, 0, 1},
                 {2, -1, 0},
                 {-1, -3, -1},
                 {1, -9, 1},
                 {3, 64, 8733086111712066817}};
  for (const auto& [base, exponent, power] : kPowers) {
    const Graph graph = Value(Read(ModelText(number("a", base) + number("b", exponent) + pow)));
    const std::vector<HostTensor> y =
        Value(EvaluateGraph(graph, {{"x", HostTensor::Zeros(DType::kFloat32, {1, 2, 4, 4})}}));
    EXPECT_EQ(y[0].data<int64_t>()[0], power) << base << " to the " << exponent;
  }
  // At run time: 0, 1, 2, ... 31, to the fifth power.
  const Graph graph = Value(Read(ModelText(
      number("b", 5) + pow +
      "node { op_type: 'Cast' input: 'x' output: 'a' attribute { name: 'to' type: INT i: 7 } }")));
  EXPECT_EQ(Run(graph)[31], 28629151);
  EXPECT_EQ(Run(graph)[7], 16807);
}

TEST_F(OnnxReader, SparseTensorsAreMadeDense) {
  const std::string values =
      "sparse_initializer { values { name: 'w' data_type: 1 dims: 2 float_data: "
      "[5, 6] } dims: [2, 3] indices { data_type: 7 ";
  const std::string node = "node { op_type: 'Identity' input: 'w' output: 'y' }";
  const std::vector<double> dense = {0, 5, 0, 0, 0, 6};
  EXPECT_EQ(Run(Value(Read(ModelText(values + "dims: 2 int64_data: [1, 5] } } " + node)))), dense);
  EXPECT_EQ(
      Run(Value(Read(ModelText(values + "dims: [2, 2] int64_data: [0, 1, 1, 2] } } " + node)))),
      dense);
  EXPECT_FALSE(Read(ModelText(values + "dims: 2 int64_data: [1, 6] } } " + node)).ok());
}

// Regression: a model read for one number of images could not be used for another, and trained
// models were lost.
TEST_F(OnnxReader, TheNumberOfImagesStaysOpen) {
  const auto reshape = [](const std::vector<int64_t>& target) {
    return IntsText("t", target) + "node { op_type: 'Reshape' input: ['x', 't'] output: 'y' }";
  };
  const auto flatten = [](int axis) {
    return absl::StrCat("node { op_type: 'Flatten' input: 'x' output: 'y' ",
                        "attribute { name: 'axis' type: INT i: ", axis, " } }");
  };
  const auto by_axes = [](const char* type, const std::vector<int64_t>& axes) {
    return absl::StrCat(IntsText("a", axes), "node { op_type: '", type,
                        "' input: ['x', 'a'] output: 'y' }");
  };
  const struct {
    std::string nodes;
    Shape expected;  // for three images
  } kCases[] = {{reshape({0, -1}), {3, 32}},
                {reshape({-1, 32}), {3, 32}},
                {reshape({1, -1}), {3, 32}},
                {reshape({1, 32}), {3, 32}},
                {reshape({0, 2, 16}), {3, 2, 16}},
                {reshape({-1, 4}), {24, 4}},
                {flatten(1), {3, 32}},
                {flatten(0), {1, 96}},
                {flatten(2), {6, 16}},
                {by_axes("Unsqueeze", {0}), {1, 3, 2, 4, 4}},
                {by_axes("Unsqueeze", {1}), {3, 1, 2, 4, 4}},
                {by_axes("ReduceSum", {1, 2}), {3, 1, 1, 4}}};
  const InputShapes three = {{"x", {3, 2, 4, 4}}};
  OnnxReadOptions for_three;
  for_three.shapes = three;
  for (const auto& [nodes, expected] : kCases) {
    SCOPED_TRACE(nodes);
    const Graph one = Value(Read(ModelText(nodes)));
    ASSERT_TRUE(IsOk(WriteOnnx(one, dir_ / "w.onnx")));
    const Graph written = Value(ReadOnnx(dir_ / "w.onnx", for_three));
    const Graph reshaped = Value(WithInputShapes(one, three));
    for (const Graph* const graph : {&reshaped, &written}) {
      EXPECT_EQ(graph->var(graph->outputs()[0].var).type.shape, expected);
    }
  }
}

// If images are not the first dimension, they are not mixed with the dimensions before them.
TEST_F(OnnxReader, AFirstDimensionThatIsNoNumberOfImagesStays) {
  const Graph one = Value(Read(
      ModelText(IntsText("t", {2, 16}) + "node { op_type: 'Transpose' input: 'x' output: 'm' " +
                IntsAttribute("perm", {1, 0, 2, 3}) +
                "} node { op_type: 'Reshape' input: ['m', 't'] output: 'y' }")));
  EXPECT_TRUE(FailsWith(WithInputShapes(one, {{"x", {3, 2, 4, 4}}}).status(),
                        "dimension 0 becomes 6, expected that of {2,3,4,4}"));
}

// The page's table is the output of `ashlar ops --onnx --markdown`.
TEST(OnnxSupported, IsTheTableOfThePage) {
  const std::string page = ReadWholeFile(SourceFolder() + "/docs/onnx.md");
  for (const SupportedOnnx& op : SupportedOnnxOperators()) {
    const std::string line =
        absl::StrCat("| ", op.type, " | ", op.domain, " | ", op.operator_sets, " | ",
                     op.at_run_time ? "yes" : "of constants", " | ", op.limits, " |");
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
}

TEST(OnnxSupported, ListsEachOperatorOnce) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const SupportedOnnx& op : SupportedOnnxOperators()) {
    EXPECT_TRUE(seen.insert({op.domain, op.type, op.operator_sets}).second) << op.type;
  }
  EXPECT_GT(seen.size(), 100u);
}

}  // namespace
}  // namespace ashlar::testing
