#include "tests/fuzz/onnx_seeds.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "tests/serialization/onnx/model_text.h"

namespace ashlar::testing {
namespace {

constexpr int kOnnxInt64 = 7, kOnnxBool = 9;

std::string Node(const char* type, std::initializer_list<const char*> inputs,
                 std::initializer_list<const char*> outputs, const std::string& attributes = "") {
  std::string text = absl::StrCat("node { op_type: '", type, "' ");
  for (const char* input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  for (const char* output : outputs) absl::StrAppend(&text, "output: '", output, "' ");
  return absl::StrCat(text, attributes, "} ");
}

std::string Integer(const char* name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}

std::string Subgraph(const char* name, const std::string& graph) {
  return absl::StrCat("attribute { name: '", name, "' type: GRAPH g { name: 'body' ", graph,
                      "} } ");
}

// A model of x {6}; `c` is a condition of the run.
std::string Model(const std::string& nodes) {
  return Serialized(
      absl::StrCat("ir_version: 8 opset_import { version: 17 } graph { name: 'g' ",
                   IntsText("zero", {0}), IntsText("one", {1}), IntsText("two", {2}),
                   "initializer { name: 'k' data_type: 7 int64_data: 3 } initializer { name: "
                   "'nought' data_type: "
                   "7 int64_data: 0 } initializer { name: 'yes' data_type: 9 int32_data: 1 } ",
                   nodes, "input ", ValueText("x", {6}), "input ", ValueText("c", {}, kOnnxBool),
                   "output { name: 'y' } }"));
}

// A loop from `trips` iterations, whose state is doubled while `holds` is true.
std::string LoopOf(const char* trips, const std::string& holds) {
  return Node("Loop", {trips, "yes", "x"}, {"s", "y"},
              Subgraph("body", "input " + ValueText("i", {}, kOnnxInt64) + "input " +
                                   ValueText("before", {}, kOnnxBool) + "input " +
                                   ValueText("a", {6}) + Node("Add", {"a", "a"}, {"b"}) + holds +
                                   "output { name: 'after' } output { name: 'b' } output { name: "
                                   "'a' } "));
}

}  // namespace

std::vector<std::string> ModelsOfSubgraphsAndCounts() {
  const std::string found = Node("NonZero", {"x"}, {"z"}) + Node("Squeeze", {"z", "zero"}, {"i"}) +
                            Node("Gather", {"x", "i"}, {"v"}) + Node("Shape", {"v"}, {"n"}) +
                            Node("Squeeze", {"n"}, {"end"});
  const std::string always = Node("Identity", {"before"}, {"after"});
  const std::string join = Integer("axis", 0);
  const std::string boxes = Node("Reshape", {"x", "of_boxes"}, {"xy"}) +
                            Node("Concat", {"xy", "xy"}, {"boxes"}, Integer("axis", 2)) +
                            Node("Reshape", {"x", "of_scores"}, {"scores"}) +
                            IntsText("of_boxes", {1, 3, 2}) + IntsText("of_scores", {1, 2, 3}) +
                            Node("NonMaxSuppression", {"boxes", "scores", "k"}, {"chosen"});
  const std::string pairs = Node("Unsqueeze", {"v", "zero"}, {"row"}) +
                            Node("Unsqueeze", {"v", "one"}, {"column"}) +
                            Node("Sub", {"row", "column"}, {"d"});
  return {
      Model(LoopOf("k", always)),
      Model(LoopOf("k", Node("Identity", {"c"}, {"after"}))),
      Model(found + LoopOf("end", always)),
      Model(Node("Scan", {"zeros", "x"}, {"s", "y"},
                 Subgraph("body", "input " + ValueText("a", {1}) + "input " + ValueText("e", {}) +
                                      Node("Add", {"a", "e"}, {"b"}) +
                                      "output { name: 'b' } output { name: 'a' } ") +
                     Integer("num_scan_inputs", 1)) +
            "initializer { name: 'zeros' data_type: 1 dims: 1 float_data: 0 } "),
      Model(found +
            Node("If", {"c"}, {"y"},
                 Subgraph("then_branch", Node("Identity", {"x"}, {"p"}) + "output { name: 'p' } ") +
                     Subgraph("else_branch", Node("Neg", {"v"}, {"q"}) + "output { name: 'q' } "))),
      Model(boxes + Node("Identity", {"chosen"}, {"y"})),
      Model(boxes + Node("Gather", {"chosen", "two"}, {"places"}, Integer("axis", 1)) +
            Node("Squeeze", {"places", "one"}, {"p"}) +
            Node("Gather", {"boxes", "p"}, {"y"}, Integer("axis", 1))),
      Model(found + Node("ConstantOfShape", {"n"}, {"y"})),
      Model(found + Node("Concat", {"n", "two", "n"}, {"to"}, join) +
            Node("ConstantOfShape", {"to"}, {"f"}) + Node("Identity", {"f"}, {"y"})),
      Model(found + Node("Range", {"nought", "end", "k"}, {"y"})),
      Model(found + Node("Tile", {"v", "n"}, {"y"})),
      Model(found + Node("Concat", {"n", "n"}, {"to"}, join) + Node("Expand", {"v", "to"}, {"y"})),
      Model(found + pairs + Node("ReduceMax", {"d"}, {"y"}, IntsAttribute("axes", {1}))),
      Model(found + pairs + Node("Transpose", {"d"}, {"t"}) + Node("Add", {"t", "d"}, {"y"})),
      Model(found + Node("TopK", {"v", "n"}, {"y", "at"})),
      Model(Node("Unique", {"x"}, {"y", "first"}, Integer("sorted", 1))),
      Model(Node("Greater", {"x", "half"}, {"large"}) +
            "initializer { name: 'half' data_type: 1 float_data: 0.5 } " +
            Node("Compress", {"x", "large"}, {"y"}, Integer("axis", 0))),
  };
}

}  // namespace ashlar::testing
