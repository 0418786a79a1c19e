// Sizes that stay open in written ONNX models, and sizes on which the written nodes depend.
#include "serialization/onnx/export/open_sizes.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "opr/elemwise.h"
#include "serialization/input_shapes.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
#include "tests/serialization/onnx/valid_model.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

struct OpenSizesCase {
  const char* name;
  std::string nodes;  // from x, {1,2,4,4}, to y
  const char* input;  // the declared dimensions of x and y
  const char* output;
};

std::string OpenNode(const std::string& type, const std::string& inputs,
                     const std::string& attributes = "") {
  return absl::StrCat("node { op_type: '", type, "' input: [", inputs, "] output: 'y' ", attributes,
                      "} ");
}

std::vector<OpenSizesCase> OpenSizesCases() {
  const std::string reversed = IntsText("from", {1000}) + IntsText("to", {-1000}) +
                               IntsText("axis", {0}) + IntsText("step", {-1});
  return {
      {"one by one", OpenNode("Exp", "'x'"), "N 2 H 4 ", "N 2 H 4 "},
      {"flattened", OpenNode("Flatten", "'x'"), "N 2 4 4 ", "N 32 "},
      {"mean of channels", OpenNode("ReduceMean", "'x'", IntsAttribute("axes", {1})), "N 2 H 4 ",
       "N 1 H 4 "},
      {"mean of each image", OpenNode("ReduceMean", "'x'", IntsAttribute("axes", {1, 2, 3})),
       "N 2 H 4 ", "N 1 1 1 "},
      {"every second row",
       OpenNode("MaxPool", "'x'",
                IntsAttribute("kernel_shape", {1, 1}) + IntsAttribute("strides", {2, 1})),
       "N 2 H 4 ", "N 2 ? 4 "},
      // Regression: the written padding was only what windows of this size reach.
      {"every third row of padded ones",
       OpenNode("MaxPool", "'x'",
                IntsAttribute("kernel_shape", {2, 1}) + IntsAttribute("strides", {3, 1}) +
                    IntsAttribute("pads", {1, 0, 1, 0})),
       "N 2 H 4 ", "N 2 ? 4 "},
      // Regression: twice the size and one more need the same padding.
      {"every fourth row, and the last",
       OpenNode("MaxPool", "'x'",
                IntsAttribute("kernel_shape", {2, 1}) + IntsAttribute("strides", {4, 1}) +
                    "attribute { name: 'ceil_mode' type: INT i: 1 } "),
       "N 2 4 4 ", "N 2 1 4 "},
      // Regression: constants of more than 64 KiB were taken for weights.
      {"many numbers below the number of images",
       IntsText("zero", {0}) + IntsText("one", {1}) +
           "initializer { name: 'from' data_type: 7 int64_data: 0 } "
           "initializer { name: 'to' data_type: 7 int64_data: 20000 } "
           "initializer { name: 'by' data_type: 7 int64_data: 1 } "
           "node { op_type: 'Shape' input: 'x' output: 's' } "
           "node { op_type: 'Gather' input: ['s', 'zero'] output: 'n' } "
           "node { op_type: 'Range' input: ['from', 'to', 'by'] output: 'r' } "
           "node { op_type: 'Less' input: ['r', 'n'] output: 'less' } "
           "node { op_type: 'Cast' input: 'less' output: 'c' "
           "attribute { name: 'to' type: INT i: 1 } } "
           "node { op_type: 'ReduceMax' input: 'x' output: 'm' } " +
           OpenNode("Add", "'m', 'c'"),
       "1 2 H 4 ", "1 1 1 20000 "},
      // Regression: the written slice began at the last image of the size that was read.
      {"images reversed", reversed + OpenNode("Slice", "'x', 'from', 'to', 'axis', 'step'"),
       "1 2 H 4 ", "1 2 H 4 "},
      {"rows of a size",
       IntsText("sizes", {1, 2, 8, 4}) +
           OpenNode("Resize", "'x', '', '', 'sizes'",
                    "attribute { name: 'mode' type: STRING s: 'nearest' }"),
       "1 2 H 4 ", "1 2 8 4 "},
      // Regression: the written sizes were of all dimensions, the number of images included.
      {"rows of a size of any images",
       IntsText("zero", {0}) + IntsText("two", {2}) + IntsText("rows", {8, 5}) +
           "node { op_type: 'Shape' input: 'x' output: 's' } "
           "node { op_type: 'Slice' input: ['s', 'zero', 'two'] output: 'kept' } "
           "node { op_type: 'Concat' input: ['kept', 'rows'] output: 'sizes' " +
           "attribute { name: 'axis' type: INT i: 0 } } " +
           OpenNode("Resize", "'x', '', '', 'sizes'",
                    "attribute { name: 'mode' type: STRING s: 'linear' }"),
       "N 2 H 4 ", "N 2 8 5 "},
  };
}

std::string DimsOf(const onnx::ValueInfoProto& value) {
  std::string dims;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    absl::StrAppend(&dims,
                    dim.has_dim_value()   ? absl::StrCat(dim.dim_value())
                    : dim.has_dim_param() ? dim.dim_param()
                                          : "?",
                    " ");
  }
  return dims;
}

TEST(OpenSizes, AreDeclaredUnlessNodesDependOnThem) {
  const TempDir dir;
  const std::string path = dir / "m.onnx", written = dir / "w.onnx";
  const std::vector<OpenAxis> open = {{"x", 0, "N"}, {"x", 2, "H"}};
  for (const OpenSizesCase& c : OpenSizesCases()) {
    SCOPED_TRACE(c.name);
    WriteWholeFile(path, Serialized(ModelText(c.nodes)));
    const Graph graph = Value(ReadOnnx(path));
    const auto read_at = [&](const InputShapes& shapes) {
      OnnxReadOptions options;
      options.shapes = shapes;
      return ReadOnnx(path, options);
    };
    ASSERT_TRUE(IsOk(WriteOnnx(graph, written, {FixedByReading(graph, open, read_at), open})));
    const onnx::ModelProto model = ParseOnnx(written);
    ExpectValid(model);
    EXPECT_EQ(DimsOf(model.graph().input(0)), c.input);
    EXPECT_EQ(DimsOf(model.graph().output(0)), c.output);
    // At other sizes the written model gives the graph's values, or is refused.
    const auto expect_same = [&](const Shape& shape, bool open) {
      OnnxReadOptions options;
      options.shapes = {{"x", shape}};
      const absl::StatusOr<Graph> read = ReadOnnx(written, options);
      if (!open) {
        EXPECT_TRUE(FailsWith(read.status(), "depends on dimension")) << shape.ToString();
        return;
      }
      ASSERT_TRUE(IsOk(read.status()));
      std::mt19937_64 random(5);
      const HostTensor x = RandomTensor(random, shape, -1, 1);
      const std::vector<HostTensor> got = Value(EvaluateGraph(*read, {{"x", x}}));
      const std::vector<HostTensor> expected =
          Value(EvaluateGraph(Value(read_at(options.shapes)), {{"x", x}}));
      ASSERT_EQ(got[0].shape(), expected[0].shape());
      for (int64_t i = 0; i < got[0].num_elements(); ++i) {
        ASSERT_EQ(got[0].At(i), expected[0].At(i)) << shape.ToString() << " " << i;
      }
    };
    expect_same({3, 2, 4, 4}, c.input[0] == 'N');
    for (const int64_t rows : {2, 5, 7, 9, 17}) {
      expect_same({1, 2, rows, 4}, absl::StrContains(c.input, "H"));
    }
  }
}

// Two inputs with the same symbol stay equal; a symbol with a fixed dimension is not declared.
TEST(OpenSizes, OfOneSymbolAreDeclaredTogether) {
  const TempDir dir;
  const std::string path = dir / "m.onnx", written = dir / "w.onnx";
  WriteWholeFile(path, Serialized(ModelText(OpenNode("Add", "'x', 'z'") + "input " +
                                            ValueText("z", {1, 2, 4, 4}))));
  const Graph graph = Value(ReadOnnx(path));
  FileAxes axes = {{}, {{"x", 0, "N"}, {"z", 0, "N"}}};
  ASSERT_TRUE(IsOk(WriteOnnx(graph, written, axes)));
  EXPECT_EQ(DimsOf(ParseOnnx(written).graph().input(1)), "N 2 4 4 ");
  EXPECT_EQ(DimsOf(ParseOnnx(written).graph().output(0)), "N 2 4 4 ");
  axes.fixed = {{"x", 0, "y"}};
  ASSERT_TRUE(IsOk(WriteOnnx(graph, written, axes)));
  EXPECT_EQ(DimsOf(ParseOnnx(written).graph().input(1)), "1 2 4 4 ");
  ExpectValid(ParseOnnx(written));
}

// Regression: a symbol at different places of several inputs ended with a crash.
TEST(OpenSizes, OfOneSymbolAtDifferentPlaces) {
  const TempDir dir;
  const std::string path = dir / "m.onnx", written = dir / "w.onnx";
  WriteWholeFile(
      path, Serialized(ModelText(OpenNode("Add", "'x', 'a'") + "input " + ValueText("a", {4}))));
  const FileAxes axes = {{}, {{"x", 3, "W"}, {"a", 0, "W"}}};
  ASSERT_TRUE(IsOk(WriteOnnx(Value(ReadOnnx(path)), written, axes)));
  EXPECT_EQ(DimsOf(ParseOnnx(written).graph().input(0)), "W ");  // a
  EXPECT_EQ(DimsOf(ParseOnnx(written).graph().input(1)), "1 2 4 W ");
  ExpectValid(ParseOnnx(written));
}

// A sum of two sizes of which one is 1 may become either: outputs have no symbol then.
TEST(OpenSizes, OfTwoSymbolsAreUnknownInOutputs) {
  const TempDir dir;
  const std::string path = dir / "m.onnx", written = dir / "w.onnx";
  WriteWholeFile(path, Serialized(ModelText(OpenNode("Add", "'x', 'z'") + "input " +
                                            ValueText("z", {3, 2, 4, 4}))));
  const FileAxes axes = {{}, {{"x", 0, "N"}, {"z", 0, "M"}}};
  ASSERT_TRUE(IsOk(WriteOnnx(Value(ReadOnnx(path)), written, axes)));
  EXPECT_EQ(DimsOf(ParseOnnx(written).graph().input(0)), "M 2 4 4 ");  // z
  EXPECT_EQ(DimsOf(ParseOnnx(written).graph().output(0)), "? 2 4 4 ");
}

TEST(OpenSizes, AreSampledAroundThePresentOnes) {
  GraphMaker make;
  const int x = make.Input("x", {20, 1});
  make.Output(make.Add<Elemwise>({ScalarFunction::kExp}, {x}));
  const Graph graph = std::move(make).Build();
  for (const auto& [axis, expected] :
       {std::pair(0, std::vector<int64_t>{40, 41, 21, 22, 23, 62, 19, 10, 1}), {1, {2, 3, 4, 5}}}) {
    std::vector<int64_t> sizes;
    for (const InputShapes& shapes : SampledShapes(graph, {{"x", axis}})) {
      sizes.push_back(shapes.at("x")[axis]);
    }
    EXPECT_EQ(sizes, expected) << axis;
  }
}

}  // namespace
}  // namespace ashlar::testing
