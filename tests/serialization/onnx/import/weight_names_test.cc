// Weights keep their names in the file when the reader reshapes or converts them.
#include <gtest/gtest.h>

#include <set>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using Names = std::multiset<std::string>;

// Returns an initializer whose first element is `first`, and all others are 0.5.
std::string Weight(const std::string& name, const Shape& shape, double first = 0.25) {
  std::string text = absl::StrCat("initializer { name: '", name, "' data_type: 1");
  for (const int64_t dim : shape.dims()) absl::StrAppend(&text, " dims: ", dim);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    absl::StrAppend(&text, " float_data: ", i == 0 ? first : 0.5);
  }
  return text + " }\n";
}

std::string NodeText(const std::string& type, const std::vector<std::string>& inputs,
                     const std::string& output, const std::string& more = "") {
  std::string text = absl::StrCat("node { op_type: '", type, "' output: '", output, "' ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  return absl::StrCat(text, more, "}\n");
}

Graph Read(const std::string& nodes_and_weights) {
  return Value(ReadText(ModelText(nodes_and_weights)));
}

// Returns the names of the Float32 constants.
Names WeightsOf(const Graph& graph) {
  Names names;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() != Role::kConstant) continue;
    if (graph.constant(node.outputs[0])->dtype() == DType::kFloat32) names.insert(node.name);
  }
  return names;
}

const char kTwoGroups[] = "attribute { name: 'group' type: INT i: 2 } ";

TEST(OnnxWeightNames, OfConvolutionsAreTheNamesInTheFile) {
  EXPECT_EQ(WeightsOf(Read(NodeText("Conv", {"x", "w", "b"}, "y") + Weight("w", {3, 2, 1, 1}) +
                           Weight("b", {3}))),
            (Names{"w", "b"}));
  EXPECT_EQ(WeightsOf(Read(NodeText("Conv", {"x", "w", "b"}, "y", kTwoGroups) +
                           Weight("w", {4, 1, 1, 1}) + Weight("b", {4}))),
            (Names{"w", "b"}));
  EXPECT_EQ(WeightsOf(Read(NodeText("ConvTranspose", {"x", "w", "b"}, "y", kTwoGroups) +
                           Weight("w", {2, 3, 1, 1}) + Weight("b", {6}))),
            (Names{"w", "b"}));
}

// The constants that nodes of the file compute from a weight.
TEST(OnnxWeightNames, OfTransposedAndScaledWeightsAreTheNamesInTheFile) {
  EXPECT_EQ(WeightsOf(Read(NodeText("Transpose", {"w"}, "turned") +
                           NodeText("Reshape", {"turned", "shape"}, "filter") +
                           NodeText("Conv", {"x", "filter"}, "y") + Weight("w", {2, 3}) +
                           IntsText("shape", {3, 2, 1, 1}))),
            (Names{"w"}));
  EXPECT_EQ(WeightsOf(Read(NodeText("Mul", {"w", "two"}, "scaled") +
                           NodeText("Conv", {"x", "scaled"}, "y") + Weight("w", {3, 2, 1, 1}) +
                           Weight("two", {1}, 2))),
            (Names{"w"}));
}

// Two nodes with one bias are one layer that is applied twice: the bias stays one constant.
TEST(OnnxWeightNames, OneBiasOfTwoConvolutionsIsOneConstant) {
  EXPECT_EQ(WeightsOf(Read(NodeText("Conv", {"x", "w", "b"}, "z") +
                           NodeText("Conv", {"z", "w", "b"}, "y") + Weight("w", {2, 2, 1, 1}) +
                           Weight("b", {2}))),
            (Names{"w", "b"}));
}

// Exporters write the zeros of all new biases once. An identity of them is a weight with a name.
TEST(OnnxWeightNames, IdentitiesOfNewWeightsHaveTheirOwn) {
  const auto model = [](double first) {
    return NodeText("Identity", {"a"}, "b") + NodeText("Conv", {"x", "w", "a"}, "z") +
           NodeText("Conv", {"z", "v", "b"}, "y") + Weight("w", {2, 2, 1, 1}) +
           Weight("v", {2, 2, 1, 1}) + Weight("a", {2}, first);
  };
  EXPECT_EQ(WeightsOf(Read(model(0.5))), (Names{"w", "v", "a", "b"}));
  EXPECT_EQ(WeightsOf(Read(model(0.25))), (Names{"w", "v", "a"}));
}

}  // namespace
}  // namespace ashlar::testing
