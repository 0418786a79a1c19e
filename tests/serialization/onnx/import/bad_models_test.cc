// Models that are wrong, damaged or not supported: each gives an error that names the cause.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using absl::StatusCode;

struct Bad {
  const char* name;
  std::string text;
  StatusCode code;
  const char* message;
};

void ExpectErrors(const std::vector<Bad>& models) {
  TempDir dir;
  for (const Bad& bad : models) {
    SCOPED_TRACE(bad.name);
    WriteWholeFile(dir / "m.onnx", Serialized(bad.text));
    const absl::Status status = ReadOnnx(dir / "m.onnx").status();
    EXPECT_EQ(status.code(), bad.code) << status;
    EXPECT_TRUE(FailsWith(status, bad.message));
    EXPECT_TRUE(FailsWith(status, "m.onnx"));
  }
}

// Returns a node from x to y.
std::string Node(const std::string& type, const std::string& rest = "",
                 const std::string& inputs = "'x'") {
  return absl::StrCat("node { op_type: '", type, "' name: 'n' input: [", inputs, "] output: 'y' ",
                      rest, " }\n");
}

std::string Ints(const std::string& name, const std::vector<int64_t>& values) {
  return absl::StrCat("attribute { name: '", name, "' type: INTS ints: [",
                      absl::StrJoin(values, ","), "] } ");
}

std::string Int(const std::string& name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}

// Returns Float32 zeros as raw data.
std::string Weights(const std::string& name, const std::vector<int64_t>& dims) {
  int64_t bytes = 4;
  for (const int64_t dim : dims) bytes *= dim;
  std::string zeros;
  for (int64_t i = 0; i < bytes; ++i) zeros += "\\000";
  return absl::StrCat("initializer { name: '", name, "' data_type: 1 dims: [",
                      absl::StrJoin(dims, ","), "] raw_data: '", zeros, "' }\n");
}

TEST(OnnxBadModels, Files) {
  TempDir dir;
  for (const std::string& content :
       {std::string(), std::string("x"), std::string(100, '\xff'), std::string("{\"a\": 1}")}) {
    WriteWholeFile(dir / "m.onnx", content);
    EXPECT_TRUE(FailsWith(ReadOnnx(dir / "m.onnx").status(), "no ONNX model"));
  }
  EXPECT_FALSE(ReadOnnx(dir / "none.onnx").ok());
}

TEST(OnnxBadModels, Headers) {
  const std::string relu = Node("Relu");
  ExpectErrors({
      {"no operator set", "ir_version: 8 graph { output { name: 'x' } }",
       StatusCode::kInvalidArgument, "no operator set"},
      {"old", "ir_version: 2 opset_import { version: 1 } graph { }", StatusCode::kInvalidArgument,
       "IR version 2"},
      {"new operator set", ModelText(relu, 99), StatusCode::kUnimplemented, "operator set 99"},
      {"operator set 0", ModelText(relu, 0), StatusCode::kInvalidArgument, "operator set 0"},
      // Regression: the reader made a graph, which had no outputs.
      {"no graph", "ir_version: 8 opset_import { version: 13 }", StatusCode::kInvalidArgument,
       "it has no graph"},
      {"no outputs", "ir_version: 8 opset_import { version: 13 } graph { }",
       StatusCode::kInvalidArgument, "no outputs"},
  });
}

TEST(OnnxBadModels, Graphs) {
  const std::string relu = Node("Relu");
  ExpectErrors({
      {"undefined", ModelText(Node("Relu", "", "'z'")), StatusCode::kInvalidArgument,
       "value 'z' is made by nothing"},
      {"output without producer", ModelText(""), StatusCode::kInvalidArgument,
       "output 'y' is made by nothing"},
      {"two producers", ModelText(relu + relu), StatusCode::kInvalidArgument, "made twice"},
      {"cycle",
       ModelText("node { op_type: 'Add' input: ['x', 'b'] output: 'y' } "
                 "node { op_type: 'Relu' input: 'y' output: 'b' }"),
       StatusCode::kInvalidArgument, "its own output"},
      {"itself", ModelText("node { op_type: 'Relu' input: 'y' output: 'y' }"),
       StatusCode::kInvalidArgument, "its own output"},
      {"makes an input",
       ModelText(relu + "node { op_type: 'Relu' input: 'x' output: 'w' } input " +
                 ValueText("x", {1})),
       StatusCode::kInvalidArgument, "two inputs are named 'x'"},
      {"overwrites an initializer", ModelText(Weights("y", {1}) + relu),
       StatusCode::kInvalidArgument, "an initializer"},
      {"missing input", ModelText(Node("Add")), StatusCode::kInvalidArgument,
       "1 inputs, expected 2"},
      {"makes a graph's input",
       ModelText("node { op_type: 'Relu' input: 'x' output: 'x' } node { op_type: 'Relu' input: "
                 "'x' output: 'y' }"),
       StatusCode::kInvalidArgument, "'x'"},
      {"empty name on a required input", ModelText(Node("Add", "", "'', 'x'")),
       StatusCode::kInvalidArgument, "input 0 is missing"},
      {"extra input", ModelText(Node("Relu", "", "'x', 'x'")), StatusCode::kInvalidArgument,
       "2 inputs, expected 1"},
      {"function that calls itself",
       ModelText("node { op_type: 'F' domain: 'd' input: 'x' output: 'y' }", 17,
                 "opset_import { domain: 'd' version: 1 } functions { name: 'F' domain: 'd' "
                 "input: 'a' output: 'b' opset_import { domain: 'd' version: 1 } "
                 "node { op_type: 'F' domain: 'd' input: 'a' output: 'b' } }"),
       StatusCode::kInvalidArgument, "calls itself"},
  });
}

// Regression: an If without a condition was treated as a missing input without a name, and its
// output as a missing constant.
TEST(OnnxBadModels, ConditionsAreOfOneInput) {
  ExpectErrors({
      {"none", ModelText(Node("If", "", "")), StatusCode::kInvalidArgument, "0 inputs, expected 1"},
      {"no name", ModelText(Node("If", "", "''")), StatusCode::kInvalidArgument,
       "0 inputs, expected 1"},
      {"two", ModelText(Node("If", "", "'x', 'x'")), StatusCode::kInvalidArgument,
       "2 inputs, expected 1"},
  });
}

TEST(OnnxBadModels, MissingOperatorsAreListedAtOnce) {
  ExpectErrors({
      {"unknown", ModelText(Node("Nonsense")), StatusCode::kUnimplemented,
       "Nonsense (ai.onnx 17), at run time, 1 node: 'n'"},
      {"unknown domain", ModelText(Node("Relu", "domain: 'z'")), StatusCode::kUnimplemented,
       "Relu (z 0)"},
      {"several",
       ModelText("node { op_type: 'A' input: 'x' output: 'a' } "
                 "node { op_type: 'B' input: 'a' output: 'b' } "
                 "node { op_type: 'A' input: 'b' output: 'c' } "
                 "node { op_type: 'Add' input: ['c', 'a'] output: 'y' }"),
       StatusCode::kUnimplemented, "not supported: 2 operators"},
      {"in folding",
       ModelText(Weights("w", {2}) + "node { op_type: 'A' input: 'w' output: 'a' } "
                                     "node { op_type: 'Reshape' input: ['x', 'a'] output: 'y' }"),
       StatusCode::kUnimplemented, "A (ai.onnx 17), in folding, 1 node: 'a'"},
      {"unknown attribute", ModelText(Node("Relu", Int("z", 1))), StatusCode::kUnimplemented,
       "attribute 'z'"},
      {"loop", ModelText(Node("Loop")), StatusCode::kInvalidArgument, "body is missing"},
      {"the greatest of any number of samples",
       ModelText(
           Weights("r", {1, 4}) + IntsText("i", {0}) +
           Node("RoiAlign", "attribute { name: 'mode' type: STRING s: 'max' }", "'x', 'r', 'i'")),
       StatusCode::kUnimplemented, "mode 'max' with as many samples as boxes are large"},
      {"boxes without an image",
       ModelText(Weights("r", {1, 4}) +
                 Node("MaxRoiPool", "attribute { name: 'pooled_shape' type: INTS ints: [2, 2] }",
                      "'x', 'r'")),
       StatusCode::kInvalidArgument, "boxes {1,4} and an output of 2 axes"},
      {"other samples of boxes",
       ModelText(
           Weights("r", {1, 4}) + IntsText("i", {0}) +
           Node("RoiAlign", "attribute { name: 'mode' type: STRING s: 'sum' }", "'x', 'r', 'i'")),
       StatusCode::kUnimplemented, "RoiAlign (ai.onnx 17), at run time, 1 node: 'n': mode 'sum'"},
  });
}

TEST(OnnxBadModels, Tensors) {
  const auto with = [](const std::string& tensor) {
    return ModelText("initializer { name: 'w' " + tensor + " } " + Node("Add", "", "'x', 'w'"));
  };
  ExpectErrors({
      {"too short", with("data_type: 1 dims: 4 raw_data: 'abc'"), StatusCode::kInvalidArgument,
       "needs 16 bytes, raw_data has 3"},
      {"exabytes", with("data_type: 1 dims: [1000000000, 1000000000] raw_data: 'abc'"),
       StatusCode::kInvalidArgument, "tensor 'w'"},
      {"overflow", with("data_type: 1 dims: [4294967296, 4294967296, 0] raw_data: ''"),
       StatusCode::kInvalidArgument, "tensor 'w'"},
      {"negative", with("data_type: 1 dims: -1"), StatusCode::kInvalidArgument, "negative"},
      {"two storages", with("data_type: 1 dims: 1 raw_data: '\\000\\000\\000\\000' float_data: 1"),
       StatusCode::kInvalidArgument, "raw_data and a typed field"},
      {"another field", with("data_type: 1 dims: 1 int64_data: 1"), StatusCode::kInvalidArgument,
       "another type's field"},
      {"too few", with("data_type: 1 dims: 2 float_data: 1"), StatusCode::kInvalidArgument,
       "needs 2 elements"},
      {"type 99", with("data_type: 99 dims: 1 raw_data: 'a'"), StatusCode::kUnimplemented,
       "type 99"},
      {"strings", with("data_type: 8 dims: 1 string_data: 'a'"), StatusCode::kUnimplemented,
       "string"},
      {"complex64", with("data_type: 14 dims: 1 raw_data: 'abcdefgh'"), StatusCode::kUnimplemented,
       "complex64"},
      {"int4", with("data_type: 22 dims: 1 raw_data: 'a'"), StatusCode::kUnimplemented, "int4"},
      {"10,000 dimensions",
       with(absl::StrCat("data_type: 1 dims: [", absl::StrJoin(std::vector<int>(10'000, 1), ","),
                         "] float_data: 1")),
       StatusCode::kInvalidArgument, "rank 10000"},
      {"sides of 2^31 - 1", with("data_type: 1 dims: [2147483647, 2147483647, 2] raw_data: 'abc'"),
       StatusCode::kInvalidArgument, "tensor 'w'"},
      {"rank", with("data_type: 1 dims: [1,1,1,1,1,1,1,1,1] float_data: 1"),
       StatusCode::kInvalidArgument, "rank 9"},
      {"dtypes differ", with("data_type: 7 dims: 1 int64_data: 1"), StatusCode::kInvalidArgument,
       "input 1 is Int64, expected Float32"},
  });
}

TEST(OnnxBadModels, Windows) {
  const auto conv = [](const std::string& attributes) {
    return ModelText(Weights("w", {2, 2, 3, 3}) + Node("Conv", attributes, "'x', 'w'"));
  };
  const auto pool = [](const std::string& attributes) {
    return ModelText(Node("MaxPool", attributes));
  };
  const StatusCode invalid = StatusCode::kInvalidArgument;
  ExpectErrors({
      {"stride 0", conv(Ints("strides", {0, 1})), invalid, "strides"},
      {"strides of another rank", conv(Ints("strides", {1})), invalid, "strides"},
      {"dilation 0", conv(Ints("dilations", {0, 0})), invalid, "dilations"},
      {"pads of another rank", conv(Ints("pads", {0, 0})), invalid, "pads"},
      {"huge pads", conv(Ints("pads", {INT64_MAX, 0, 0, 0})), invalid, "pads"},
      {"kernel_shape differs", conv(Ints("kernel_shape", {1, 1})), invalid, "kernel_shape"},
      {"group 0", conv(Int("group", 0)), invalid, "group is 0"},
      {"group 3", conv(Int("group", 3)), invalid, "group is 3"},
      {"group -1", conv(Int("group", -1)), invalid, "group is -1"},
      {"dilations of another rank", conv(Ints("dilations", {1, 1, 1})), invalid, "dilations"},
      {"dilation without end", conv(Ints("dilations", {INT64_MAX, 1})), invalid, "dilations"},
      {"stride without end", conv(Ints("strides", {INT64_MAX, 1})), invalid, "strides"},
      {"other channels", ModelText(Weights("w", {2, 3, 3, 3}) + Node("Conv", "", "'x', 'w'")),
       invalid, ""},
      {"no channels", ModelText(Weights("w", {2, 0, 3, 3}) + Node("Conv", "", "'x', 'w'")),
       StatusCode::kUnimplemented, "empty"},
      {"no filters", ModelText(Weights("w", {0, 2, 3, 3}) + Node("Conv", "", "'x', 'w'")),
       StatusCode::kUnimplemented, "empty"},
      {"a bias of another length",
       ModelText(Weights("w", {2, 2, 3, 3}) + Weights("b", {3}) +
                 Node("Conv", "", "'x', 'w', 'b'")),
       invalid, ""},
      {"transposed, stride 0",
       ModelText(Weights("w", {2, 2, 3, 3}) +
                 Node("ConvTranspose", Ints("strides", {0, 0}), "'x', 'w'")),
       invalid, "strides"},
      {"transposed, pads without end",
       ModelText(Weights("w", {2, 2, 3, 3}) +
                 Node("ConvTranspose", Ints("pads", {9, 9, 9, 9}), "'x', 'w'")),
       invalid, ""},
      {"average in the padding",
       ModelText(Node("AveragePool", Ints("kernel_shape", {2, 2}) + Ints("pads", {2, 2, 2, 2}))),
       invalid, "padding"},
      {"pool larger than the image", pool(Ints("kernel_shape", {9, 9})), invalid, ""},
      {"DepthToSpace -1", ModelText(Node("DepthToSpace", Int("blocksize", -1))), invalid,
       "blocksize -1"},
      {"window too large", conv(Ints("dilations", {9, 9})), invalid, "larger than"},
      {"auto_pad", conv("attribute { name: 'auto_pad' type: STRING s: 'Z' }"), invalid, "auto_pad"},
      {"weights of another rank", ModelText(Weights("w", {2, 2, 3}) + Node("Conv", "", "'x', 'w'")),
       invalid, "one rank"},
      {"pool without window", pool(""), invalid, "kernel_shape"},
      {"pool of 0", pool(Ints("kernel_shape", {0, 0})), invalid, "kernel_shape"},
      {"pool of integers",
       ModelText("node { op_type: 'Cast' input: 'x' output: 'i' " + Int("to", 7) + " } " +
                 Node("MaxPool", Ints("kernel_shape", {2, 2}), "'i'")),
       invalid, "the input is Int64, expected floats, Int8 or Uint8"},
      {"pool stride 0", pool(Ints("kernel_shape", {2, 2}) + Ints("strides", {0, 0})), invalid,
       "strides"},
      {"window in the padding", pool(Ints("kernel_shape", {2, 2}) + Ints("pads", {2, 2, 2, 2})),
       invalid, "padding"},
      {"DepthToSpace 0", ModelText(Node("DepthToSpace", Int("blocksize", 0))), invalid,
       "blocksize 0"},
      {"SpaceToDepth 3", ModelText(Node("SpaceToDepth", Int("blocksize", 3))), invalid,
       "blocksize 3"},
  });
}

TEST(OnnxBadModels, Shapes) {
  const auto with = [](const std::string& type, const std::vector<std::vector<int64_t>>& inputs,
                       const std::string& attributes = "", int version = 17) {
    std::string constants, names = "'x'";
    for (size_t i = 0; i < inputs.size(); ++i) {
      constants += IntsText(absl::StrCat("c", i), inputs[i]);
      absl::StrAppend(&names, ", 'c", i, "'");
    }
    return ModelText(constants + Node(type, attributes, names), version);
  };
  const StatusCode invalid = StatusCode::kInvalidArgument;
  ExpectErrors({
      {"two -1", with("Reshape", {{-1, -1}}), invalid, "two dimensions are -1"},
      {"other product", with("Reshape", {{5}}), invalid, "{5}"},
      {"0 beyond the rank", with("Reshape", {{1, 2, 4, 4, 0}}), invalid, "which lacks it"},
      {"overflow", with("Reshape", {{INT64_MAX, 4, -1}}), invalid, "dimension 1"},
      {"allowzero", with("Reshape", {{0, -1}}, Int("allowzero", 1)), invalid, "-1"},
      {"step 0", with("Slice", {{0}, {1}, {0}, {0}}), invalid, "a step is 0"},
      {"axis twice", with("Slice", {{0, 0}, {1, 1}, {1, 1}}), invalid, "twice"},
      {"lengths differ", with("Slice", {{0, 0}, {1}}), invalid, "differ in length"},
      {"split sums", with("Split", {{1, 2}}, Int("axis", 1)), invalid, "do not sum"},
      {"split negative", with("Split", {{-1, 3}}, Int("axis", 1)), invalid, "do not sum"},
      {"perm twice", ModelText(Node("Transpose", Ints("perm", {0, 0, 1, 2}))), invalid, "twice"},
      {"perm too short", ModelText(Node("Transpose", Ints("perm", {0, 1}))), invalid, "perm"},
      {"squeeze of 2", with("Squeeze", {{1}}), invalid, "is not 1"},
      {"squeeze of axis 9", with("Squeeze", {{9}}), invalid, "9"},
      {"unsqueeze beyond the rank", with("Unsqueeze", {{0, 0}}), invalid, "twice"},
      {"unsqueeze of many", with("Unsqueeze", {{0, 1, 2, 3, 4}}), invalid, "rank of 9"},
      {"flatten", ModelText(Node("Flatten", Int("axis", 5))), invalid, "axis is 5"},
      {"expand", with("Expand", {{3, 2, 4, 5}}), invalid, "do not broadcast"},
      {"tile overflow", with("Tile", {{INT64_MAX, 2, INT64_MAX, 1}}), invalid, ""},
      {"tile negative", with("Tile", {{-1, 1, 1, 1}}), invalid, "repeats"},
      {"gather n", with("Gather", {{2}}, Int("axis", 1)), invalid, "index 2 is out of range"},
      {"gather -n-1", with("Gather", {{-3}}, Int("axis", 1)), invalid, "index -3"},
      {"concat of other ranks",
       ModelText(Weights("w", {1, 2}) + Node("Concat", Int("axis", 0), "'x', 'w'")), invalid, ""},
      {"concat axis", ModelText(Node("Concat", Int("axis", 4), "'x', 'x'")), invalid, "4"},
      {"concat of scalars",
       ModelText("initializer { name: 'c' data_type: 1 float_data: 1 } " +
                 Node("Concat", Int("axis", 0), "'c', 'c'")),
       invalid, ""},
      {"softmax of a scalar",
       ModelText("initializer { name: 'c' data_type: 1 float_data: 1 } " +
                 Node("Softmax", Int("axis", 0), "'c'")),
       invalid, ""},
      {"product of a scalar",
       ModelText("initializer { name: 'c' data_type: 1 float_data: 1 } " +
                 Node("MatMul", "", "'x', 'c'")),
       invalid, ""},
      {"product without inner size",
       ModelText(Weights("w", {0, 3}) + Node("MatMul", "", "'x', 'w'")), StatusCode::kUnimplemented,
       "a row of A has 4 elements"},
      {"pad beyond the tensor", with("Pad", {{0, 0, -3, 0, 0, 0, -3, 0}}), invalid, ""},
      {"pad of another length", with("Pad", {{0, 0}}), invalid, "pads"},
      {"pad without end", with("Pad", {{0, 0, 0, INT64_MAX, 0, 0, 0, 1}}), invalid, ""},
      {"expand without end", with("Expand", {{int64_t{1} << 40, 2, 4, 4}}), invalid, "larger than"},
      {"unsqueeze, squeeze twice", with("Squeeze", {{0, 0}}), invalid, ""},
      {"scalar's transposition",
       ModelText("initializer { name: 'c' data_type: 1 float_data: 1 } " +
                 Node("Transpose", Ints("perm", {0}), "'c'")),
       invalid, "perm"},
      {"gather axis", with("Gather", {{0}}, Int("axis", 7)), invalid, "7"},
  });
}

TEST(OnnxBadModels, ConstantsThatWouldTakeTooMuch) {
  const auto shape_of = [](const std::vector<int64_t>& dims) {
    return ModelText(IntsText("s", dims) +
                     "node { op_type: 'ConstantOfShape' input: 's' output: 'c' } "
                     "node { op_type: 'Add' input: ['x', 'c'] output: 'y' }");
  };
  ExpectErrors({
      {"exabytes", shape_of({1 << 30, 1 << 30, 1 << 10}), StatusCode::kInvalidArgument,
       "larger than"},
      {"more than a file may hold", shape_of({1 << 10, 1 << 20}), StatusCode::kInvalidArgument,
       "take more than"},
      {"integers by 0",
       ModelText(IntsText("a", {1}) + IntsText("b", {0}) +
                 "node { op_type: 'Div' input: ['a', 'b'] output: 'c' } "
                 "node { op_type: 'Reshape' input: ['x', 'c'] output: 'y' }"),
       StatusCode::kInvalidArgument, "divided by 0"},
      {"range without end",
       ModelText("initializer { name: 'a' data_type: 7 int64_data: 0 } "
                 "initializer { name: 'b' data_type: 7 int64_data: 1000000000000000 } "
                 "initializer { name: 'c' data_type: 7 int64_data: 1 } "
                 "node { op_type: 'Range' input: ['a', 'b', 'c'] output: 'd' } "
                 "node { op_type: 'Reshape' input: ['x', 'd'] output: 'y' }"),
       StatusCode::kInvalidArgument, "elements"},
  });
}

// Regression: each sparse tensor was limited alone, so a small file could expand to any number of
// large ones.
TEST(OnnxBadModels, SparseTensorsCountTogether) {
  std::string tensors, sum = "x";
  std::string nodes;
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(
        &tensors, "sparse_initializer { values { name: 's", i,
        "' data_type: 1 dims: 1 float_data: 1 } dims: [67108864, 1, 1, 4] indices { data_type: "
        "7 dims: 1 int64_data: 5 } }\n");
    absl::StrAppend(&nodes, "node { op_type: 'Add' input: ['", sum, "', 's", i, "'] output: '",
                    i == 2 ? "y" : absl::StrCat("sum", i), "' }\n");
    sum = absl::StrCat("sum", i);
  }
  ExpectErrors({{"three of 1 GiB", ModelText(tensors + nodes), StatusCode::kInvalidArgument,
                 "take more than"}});
}

// Regression: every call copied the function's body, whatever its size.
TEST(OnnxBadModels, CallsOfALargeFunctionCountTogether) {
  const std::string body = absl::StrCat(
      "node { op_type: 'Constant' output: 'k' attribute { name: 'value' type: TENSOR t { "
      "data_type: "
      "3 dims: 1000000 raw_data: '",
      std::string(1'000'000, 'k'), "' } } } ");
  std::string calls;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&calls, "node { op_type: 'F' domain: 'd' input: '", i == 0 ? "x" : "v", i,
                    "' output: '", i == 19 ? "y" : absl::StrCat("v", i + 1), "' } ");
  }
  const std::string text = ModelText(
      absl::StrReplaceAll(calls, {{"'x0'", "'x'"}}), 17,
      absl::StrCat("opset_import { domain: 'd' version: 1 } functions { name: 'F' domain: 'd' "
                   "input: 'a' output: 'b' opset_import { version: 17 } ",
                   body, "node { op_type: 'Relu' input: 'a' output: 'b' } }"));
  TempDir dir;
  WriteWholeFile(dir / "m.onnx", Serialized(text));
  EXPECT_TRUE(IsOk(ReadOnnx(dir / "m.onnx").status()));
  const absl::Status status = ReadOnnx(dir / "m.onnx", {.most_folded_bytes = 10 << 20}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(FailsWith(status, "read again with every call take more than"));
}

// Regression: names inside a function start with the names of its calls, and grew with each.
TEST(OnnxBadModels, LongNamesOfCallsAreCut) {
  std::string functions = "opset_import { domain: 'd' version: 1 } ";
  constexpr int kDeep = 40;
  const std::string name(10'000, 'n');
  for (int i = 0; i < kDeep; ++i) {
    absl::StrAppend(
        &functions, "functions { name: 'F", i,
        "' domain: 'd' input: 'a' output: 'b' opset_import { version: 17 } "
        "opset_import { domain: 'd' version: 1 } node { name: '",
        name, "' input: 'a' output: 'b' ",
        i + 1 == kDeep ? "op_type: 'Relu'" : absl::StrCat("op_type: 'F", i + 1, "' domain: 'd'"),
        " } }");
  }
  TempDir dir;
  WriteWholeFile(dir / "m.onnx",
                 Serialized(ModelText("node { name: '" + name +
                                          "' op_type: 'F0' domain: 'd' input: 'x' output: 'y' }",
                                      17, functions)));
  const absl::StatusOr<Graph> graph = ReadOnnx(dir / "m.onnx");
  ASSERT_TRUE(IsOk(graph.status()));
  for (const OperatorNode& node : graph->nodes()) EXPECT_LT(node.name.size(), 2 * name.size());
}

// Regression: each name was compared with every other.
TEST(OnnxBadModels, ManyOutputs) {
  std::string model = "ir_version: 8 opset_import { version: 17 } graph { input " +
                      ValueText("x", {1}) + "node { op_type: 'Relu' input: 'x' output: 'y' } ";
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&model, "output { name: 'o", i, "' } ");
  ExpectErrors({{"100,000", model + "}", StatusCode::kInvalidArgument, "output 'o0'"}});
}

TEST(OnnxBadModels, ManyNodesAreNoError) {
  std::string nodes;
  constexpr int kNodes = 100'000;
  for (int i = 0; i < kNodes; ++i) {
    absl::StrAppend(&nodes, "node { op_type: 'Relu' input: '", i == 0 ? "x" : absl::StrCat("v", i),
                    "' output: '", i + 1 == kNodes ? "y" : absl::StrCat("v", i + 1), "' }\n");
  }
  TempDir dir;
  WriteWholeFile(dir / "m.onnx", Serialized(ModelText(nodes)));
  const absl::StatusOr<Graph> graph = ReadOnnx(dir / "m.onnx");
  ASSERT_TRUE(IsOk(graph.status()));
  EXPECT_GT(graph->nodes().size(), size_t{kNodes});
}

// The results do not matter: each model must only terminate.
TEST(OnnxBadModels, NumbersThatAreNone) {
  for (const char* numbers : {"-1, nan", "0, inf", "1e-45, -inf", "-1e38, 1e38"}) {
    SCOPED_TRACE(numbers);
    std::string vectors;
    for (const char* name : {"s", "b", "m", "v"}) {
      absl::StrAppend(&vectors, "initializer { name: '", name,
                      "' data_type: 1 dims: 2 float_data: [", numbers, "] } ");
    }
    for (const float epsilon : {0.f, -1.f, std::nanf("")}) {
      TempDir dir;
      WriteWholeFile(
          dir / "m.onnx",
          Serialized(ModelText(
              vectors +
              Node("BatchNormalization",
                   absl::StrCat("attribute { name: 'epsilon' type: FLOAT f: ", epsilon, " } "),
                   "'x', 's', 'b', 'm', 'v'"))));
      const absl::StatusOr<Graph> graph = ReadOnnx(dir / "m.onnx");
      if (!graph.ok()) continue;
      const HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 2, 4, 4});
      EXPECT_TRUE(IsOk(EvaluateGraph(*graph, {{"x", x}}).status()));
    }
  }
}

// Bytes that are no message of this schema, as a faulty writer might produce them.
TEST(OnnxBadModels, WiresOfProtobuf) {
  const std::string version("\x08\x08", 2);      // ir_version: 8
  const std::string set("\x42\x02\x10\x11", 4);  // opset_import { version: 17 }
  const std::string none = "no ONNX model";
  const std::vector<std::pair<std::string, std::string>> files = {
      {std::string("\x08") + std::string(11, '\x80'), none},  // a varint of 11 bytes
      {std::string("\x0d\0\0\0\0", 5), "no ONNX model"},      // ir_version as 32 bits
      {version + set + "\x3a\x7f", none},                     // a graph that ends early
      {version + set + "\x3a\xff\xff\xff\xff\x0f", none},     // a graph of 4 GiB
      {version + "\x3b", none},                               // a group without an end
      {version + "\x3c", none},                               // an end without a group
      {version + std::string("\x00\x00", 2), none},           // field 0
      {version + set + std::string("\x3a\0", 2), "the graph has no outputs"},
  };
  TempDir dir;
  for (const auto& [file, message] : files) {
    SCOPED_TRACE(absl::CHexEscape(file));
    WriteWholeFile(dir / "m.onnx", file);
    EXPECT_TRUE(FailsWith(ReadOnnx(dir / "m.onnx").status(), message));
  }
}

// Repeated attributes may be packed or not.
TEST(OnnxBadModels, PackedIntegersAreTheSame) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(
      Serialized(ModelText(Node("Transpose", "attribute { name: 'perm' type: INTS }")))));
  onnx::AttributeProto& perm = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0);
  const std::string packed("\x42\x04\x00\x01\x03\x02", 6);
  const std::string single("\x40\x00\x40\x01\x40\x03\x40\x02", 8);
  TempDir dir;
  for (const std::string& wire : {packed, single}) {
    perm.clear_ints();
    ASSERT_TRUE(perm.MergeFromString(wire));
    WriteWholeFile(dir / "m.onnx", model.SerializeAsString());
    EXPECT_TRUE(IsOk(ReadOnnx(dir / "m.onnx").status()));
  }
}

TEST(OnnxBadModels, FilesBeyondTwoGigabytes) {
  TempDir dir;
  WriteWholeFile(dir / "m.onnx", "");
  std::filesystem::resize_file(dir / "m.onnx", std::uintmax_t{5} << 29);  // holes, no blocks
  EXPECT_TRUE(FailsWith(ReadOnnx(dir / "m.onnx").status(), "must lie in external data"));
}

// Names come from the file: messages cut them, and listings of a model escape them.
TEST(OnnxBadModels, NamesOfAMebibyte) {
  const std::string name(1 << 20, 'n');
  for (const std::string& text :
       {ModelText("node { op_type: 'Add' input: ['x', '" + name + "'] output: 'y' }"),
        ModelText("node { op_type: '" + name + "' input: 'x' output: 'y' }"),
        ModelText("node { op_type: 'Relu' name: '" + name + "' input: ['x', 'x'] output: 'y' }"),
        ModelText("node { op_type: 'Relu' input: 'x' output: 'y' attribute { name: '" + name +
                  "' type: INT } }"),
        ModelText("initializer { name: '" + name +
                  "' data_type: 99 } node { op_type: 'Add' input: "
                  "['x', '" +
                  name + "'] output: 'y' }")}) {
    TempDir dir;
    WriteWholeFile(dir / "m.onnx", Serialized(text));
    const absl::Status status = ReadOnnx(dir / "m.onnx").status();
    EXPECT_FALSE(status.ok());
    EXPECT_LT(status.message().size(), size_t{2000});
  }
}

// The least integer divided by -1 ends a process that does not check it.
TEST(OnnxBadModels, TheLeastIntegerByMinusOne) {
  TempDir dir;
  WriteWholeFile(dir / "m.onnx",
                 Serialized(ModelText(IntsText("a", {INT64_MIN}) + IntsText("b", {-1}) +
                                      "node { op_type: 'Div' input: ['a', 'b'] output: 'c' } "
                                      "node { op_type: 'Mod' input: ['a', 'b'] output: 'd' } "
                                      "node { op_type: 'Add' input: ['c', 'd'] output: 'y' }")));
  EXPECT_TRUE(IsOk(ReadOnnx(dir / "m.onnx").status()));
}

TEST(OnnxBadModels, InputsThatAreNotFixed) {
  const auto with = [](const std::string& dims) {
    return absl::StrCat(
        "ir_version: 8 opset_import { version: 13 } graph { node { op_type: 'Relu' input: 'x' "
        "output: 'y' } input { name: 'x' type { tensor_type { elem_type: 1 ",
        dims, " } } } output { name: 'y' } }");
  };
  const std::string image =
      "shape { dim { dim_param: 'n' } dim { dim_value: 3 } dim { dim_param: 'height' } "
      "dim { dim_param: 'width' } }";
  ExpectErrors({
      {"sides", with(image), StatusCode::kFailedPrecondition,
       "input x: 'n' and 'height' and 'width' are not fixed; a shape such as x=1x3x224x224"},
      {"no shape", with(""), StatusCode::kFailedPrecondition, "has no shape"},
      {"no type",
       "ir_version: 8 opset_import { version: 13 } graph { node { op_type: 'Relu' "
       "input: 'x' output: 'y' } input { name: 'x' } output { name: 'y' } }",
       StatusCode::kUnimplemented, "input x is no tensor"},
      {"type 99",
       absl::StrCat("ir_version: 8 opset_import { version: 13 } graph { node { op_type: "
                    "'Relu' input: 'x' output: 'y' } input ",
                    ValueText("x", {1}, 99), " output { name: 'y' } }"),
       StatusCode::kUnimplemented, "type 99"},
  });
  TempDir dir;
  WriteWholeFile(dir / "m.onnx", Serialized(with(image)));
  EXPECT_TRUE(IsOk(ReadOnnx(dir / "m.onnx", {.shapes = {{"x", {2, 3, 8, 8}}}}).status()));
  const absl::Status unknown = ReadOnnx(dir / "m.onnx", {.shapes = {{"z", {1}}}}).status();
  EXPECT_EQ(unknown.code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(FailsWith(unknown, "no input 'z'; the model has: x"));
}

// Changes every byte in turn and tries every length: an error or another model, and no crash.
TEST(OnnxBadModels, DamagedBytes) {
  const std::string good = Serialized(
      ModelText(Weights("w", {2, 2, 3, 3}) + IntsText("s", {2, -1}) +
                "node { op_type: 'Conv' input: ['x', 'w'] output: 'c' attribute { name: 'pads' "
                "type: INTS ints: [1,1,1,1] } } "
                "node { op_type: 'Reshape' input: ['c', 's'] output: 'y' }"));
  TempDir dir;
  WriteWholeFile(dir / "m.onnx", good);
  ASSERT_TRUE(IsOk(ReadOnnx(dir / "m.onnx").status()));
  int refused = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    WriteWholeFile(dir / "m.onnx", good.substr(0, i));
    refused += !ReadOnnx(dir / "m.onnx").ok();
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ mask);
      WriteWholeFile(dir / "m.onnx", bad);
      refused += !ReadOnnx(dir / "m.onnx").ok();
    }
  }
  EXPECT_GT(refused, static_cast<int>(good.size()));
}

}  // namespace
}  // namespace ashlar::testing
