// Models that are wrong, damaged or not supported: an error that says what, and nothing worse.
#include <gtest/gtest.h>

#include <cstdint>

#include "serialization/onnx/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
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

// A node from x to y.
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

// Float32, all zeros, as raw data.
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
      {"loop", ModelText(Node("Loop")), StatusCode::kUnimplemented, "Loop"},
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
      {"int4", with("data_type: 22 dims: 1 raw_data: 'a'"), StatusCode::kUnimplemented, "int4"},
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
      {"window too large", conv(Ints("dilations", {9, 9})), invalid, "larger than"},
      {"auto_pad", conv("attribute { name: 'auto_pad' type: STRING s: 'Z' }"), invalid, "auto_pad"},
      {"weights of another rank", ModelText(Weights("w", {2, 2, 3}) + Node("Conv", "", "'x', 'w'")),
       invalid, "one rank"},
      {"pool without window", pool(""), invalid, "kernel_shape"},
      {"pool of 0", pool(Ints("kernel_shape", {0, 0})), invalid, "kernel_shape"},
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

// The least integer by -1 ends a process where nobody looks.
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
       "input x: 'n' and 'height' and 'width' are not fixed; --shape x=1x3x224x224"},
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

// Every byte changed in turn, and every length: an error or another model, and no crash.
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
