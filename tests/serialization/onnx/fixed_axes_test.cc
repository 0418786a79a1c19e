// Dimensions on which more than shapes depends: a model that was read for one size, and is written,
// must not be used for another one.
#include "serialization/fixed_axes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
#include "tests/serialization/onnx/valid_model.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

std::string OneNode(const std::string& type, const std::string& inputs, const std::string& output,
                    const std::string& attributes = "") {
  return absl::StrCat("node { op_type: '", type, "' input: [", inputs, "] output: '", output, "' ",
                      attributes, "} ");
}

// Returns a function that reads the model at other shapes.
auto Reading(const std::string& path) {
  return [path](const InputShapes& shapes) {
    OnnxReadOptions options;
    options.shapes = shapes;
    return ReadOnnx(path, options);
  };
}

struct FixedAxesCase {
  const char* name;
  std::string nodes;  // from x, {1,2,4,4}, to m
  bool is_fixed;      // whether m depends on the number of images, not only on shapes
};

std::vector<FixedAxesCase> FixedAxesCases() {
  const std::string one = IntsText("one", {1}), zero = IntsText("zero", {0});
  return {
      {"one by one", OneNode("Exp", "'x'", "m"), false},
      {"flattened", OneNode("Flatten", "'x'", "m"), false},
      {"mean of each", OneNode("ReduceMean", "'x'", "m", IntsAttribute("axes", {1, 2, 3})), false},
      {"mean of all", OneNode("ReduceMean", "'x'", "m", IntsAttribute("axes", {0})), true},
      {"the last one",
       one + zero + IntsText("last", {-1}) + IntsText("end", {1000}) +
           OneNode("Slice", "'x', 'last', 'end', 'zero', 'one'", "m"),
       true},
      {"the last one by Shape",
       one + zero + OneNode("Shape", "'x'", "s") + OneNode("Gather", "'s', 'zero'", "n") +
           OneNode("Sub", "'n', 'one'", "i") + OneNode("Gather", "'x', 'i'", "m"),
       true},
      {"all in a row", IntsText("row", {1, -1}) + OneNode("Reshape", "'x', 'row'", "m"), true},
  };
}

// Regression: written models computed other values for another number of images, without a word.
TEST(FixedAxes, AreRefusedInWrittenFiles) {
  const TempDir dir;
  const std::string path = dir / "m.onnx", written = dir / "w.onnx";
  const auto read = Reading(path);
  for (const FixedAxesCase& c : FixedAxesCases()) {
    SCOPED_TRACE(c.name);
    WriteWholeFile(path, Serialized(ModelText(c.nodes + OneNode("Relu", "'m'", "y"))));
    const Graph graph = Value(ReadOnnx(path));
    EXPECT_TRUE(FixedByReading(graph, {}, read).empty());
    const std::vector<FixedAxis> fixed = FixedByReading(graph, {{"x", 0}}, read);
    EXPECT_EQ(fixed.size(), c.is_fixed ? 1u : 0u);
    ASSERT_TRUE(IsOk(WriteOnnx(graph, written, {fixed, {}})));
    ExpectValid(ParseOnnx(written));
    EXPECT_TRUE(IsOk(ReadOnnx(written).status()));
    const absl::Status status = Reading(written)({{"x", {3, 2, 4, 4}}}).status();
    EXPECT_TRUE(c.is_fixed ? FailsWith(status, "depends on dimension 0") : IsOk(status));
  }
}

// Regression: inputs that need the same number of images were tried one by one, which is refused,
// and so their models were written as if nothing depended on it.
TEST(FixedAxes, OfSeveralInputsChangeTogether) {
  const TempDir dir;
  const std::string path = dir / "m.onnx";
  const auto read = Reading(path);
  for (const FixedAxesCase& c : FixedAxesCases()) {
    SCOPED_TRACE(c.name);
    // The operators of the case read both images, one after the other in channels.
    const std::string nodes = absl::StrReplaceAll(c.nodes, {{"'x'", "'both'"}});
    WriteWholeFile(path, Serialized(ModelText(OneNode("Concat", "'x', 'z'", "both",
                                                      "attribute { name: 'axis' type: INT i: 1 }") +
                                              nodes + OneNode("Relu", "'m'", "y") + "input " +
                                              ValueText("z", {1, 2, 4, 4}))));
    const Graph graph = Value(ReadOnnx(path));
    EXPECT_EQ(FixedByReading(graph, {{"x", 0}}, read).size(), 1u) << "cannot change alone";
    for (const char* symbol : {"", "N"}) {
      const std::vector<FixedAxis> fixed =
          FixedByReading(graph, {{"x", 0, symbol}, {"z", 0, symbol}}, read);
      ASSERT_EQ(fixed.size(), c.is_fixed ? 2u : 0u) << symbol;
      if (!c.is_fixed) continue;
      EXPECT_EQ(fixed[0].input, "x");
      EXPECT_EQ(fixed[1].input, "z");
    }
  }
}

// Regression: other dimensions than the first were tried one by one.
TEST(FixedAxes, OfOneSymbolOrIndexChangeTogether) {
  const TempDir dir;
  const std::string path = dir / "m.onnx";
  const auto read = Reading(path);
  WriteWholeFile(
      path,
      Serialized(ModelText(
          OneNode("Concat", "'x', 'z'", "both", "attribute { name: 'axis' type: INT i: 1 }") +
          IntsText("last", {-1}) +
          OneNode("Gather", "'both', 'last'", "g", "attribute { name: 'axis' type: INT i: 2 }") +
          OneNode("Relu", "'g'", "y") + "input " + ValueText("z", {1, 2, 4, 4}))));
  const Graph graph = Value(ReadOnnx(path));
  EXPECT_EQ(FixedByReading(graph, {{"x", 2, "H"}, {"z", 2, "H"}}, read).size(), 2u);
  EXPECT_TRUE(FixedByReading(graph, {{"x", 3, "W"}, {"z", 3, "W"}}, read).empty());
  EXPECT_EQ(FixedByReading(graph, {{"x", 2, "H"}, {"z", 2, "V"}}, read).size(), 2u);
  const std::vector<OpenAxis> all = {{"x", 2, "H"}, {"x", 3, "W"}, {"z", 2, "H"}, {"z", 3, "W"}};
  EXPECT_EQ(FixedByReading(graph, all, read).size(), 2u) << "W stays open";
}

TEST(FixedAxes, AreReadAsTheyAreWritten) {
  for (const char* name : {"images: x", "two\nlines", "a\\b"}) {
    const FixedAxis axis = {name, 2, "a/b 'c'"};
    EXPECT_EQ(Value(ParseFixedAxis(ToText(axis))), axis);
  }
  for (const char* text : {"", "0", "x\ny\nz", "-1\ny\nz", "0\na\nb\nc"}) {
    EXPECT_FALSE(ParseFixedAxis(text).ok()) << text;
  }
}

}  // namespace
}  // namespace ashlar::testing
