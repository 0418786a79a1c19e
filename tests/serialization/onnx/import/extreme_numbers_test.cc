// Numbers in models that no size, place or axis can be: each ends in an error that names the node,
// or in the result that ONNX's text gives.
#include <gtest/gtest.h>

#include <random>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// A scalar `v`.
struct Number {
  const char* name;
  const char* text;
};
constexpr Number kNumbers[] = {
    {"NaN", "data_type: 1 float_data: nan"},
    {"1e300", "data_type: 11 double_data: 1e300"},
    {"-1e300", "data_type: 11 double_data: -1e300"},
    {"0.5", "data_type: 1 float_data: 0.5"},
    {"-2^63", "data_type: 7 int64_data: -9223372036854775808"},
    {"2^40", "data_type: 7 int64_data: 1099511627776"},
    {"2^63", "data_type: 13 uint64_data: 9223372036854775808"},
};

std::string NodeText(const std::string& type, const std::string& inputs,
                     const std::string& attributes = "", const std::string& outputs = "'y'") {
  return absl::StrCat("node { op_type: '", type, "' name: 'n' input: [", inputs, "] output: [",
                      outputs, "] ", attributes, " }\n");
}

std::string Reshaped(const std::string& name, const std::vector<int64_t>& dims) {
  return absl::StrCat(IntsText(name + "_shape", dims), "node { op_type: 'Reshape' input: ['x', '",
                      name, "_shape'] output: '", name, "' }\n");
}

HostTensor Input() {
  std::mt19937_64 random(3);
  return RandomTensor(random, {1, 2, 4, 4});
}

void ExpectErrorOfNode(const absl::Status& status) {
  EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsUnimplemented(status)) << status;
  EXPECT_TRUE(FailsWith(status, "'n'"));
}

struct ScalarRow {
  std::string graph;
  const char* allowed;  // one letter for each number: e (an error), k (a result)
  int version = 20;
};

TEST(OnnxExtremeNumbers, Scalars) {
  const std::string list = "node { op_type: 'SequenceConstruct' input: ['x', 'x'] output: 's' }\n";
  const std::string joined = "node { op_type: 'ConcatFromSequence' input: 't' output: 'y' " +
                             IntAttribute("axis", 0) + " }\n";
  const std::string boxes = Reshaped("boxes", {1, 8, 4}) + Reshaped("scores", {1, 4, 8});
  const std::string loop =
      "attribute { name: 'body' type: GRAPH g { name: 'b' node { op_type: 'Identity' input: 'c' "
      "output: 'd' } node { op_type: 'Identity' input: 'a' output: 'o' } input { name: 'i' } "
      "input { name: 'c' } input { name: 'a' } output { name: 'd' } output { name: 'o' } } }";
  const std::string halves =
      "initializer { name: 'two' data_type: 1 dims: 2 float_data: [0, 1] }\n";
  const ScalarRow rows[] = {
      {NodeText("TopK", "'x', 'v'", "", "'y', 'z'"), "eeeeeee"},
      {NodeText("CumSum", "'x', 'v'"), "eeeeeee"},
      {NodeText("CumProd", "'x', 'v'"), "eeeeeee", 26},
      {IntsText("r", {2}) + NodeText("Tile", "'x', 'r', 'v'"), "eeeeeee", 1},
      {NodeText("Trilu", "'x', 'v'"), "eeeekke"},
      {NodeText("Trilu", "'x', 'v'", IntAttribute("upper", 0)), "eeeekke"},
      {list + NodeText("SequenceAt", "'s', 'v'"), "eeeeeee"},
      {list + NodeText("SequenceErase", "'s', 'v'", "", "'t'") + joined, "eeeeeee"},
      {list + NodeText("SequenceInsert", "'s', 'x', 'v'", "", "'t'") + joined, "eeeeeee"},
      {boxes + NodeText("NonMaxSuppression", "'boxes', 'scores', 'v'"), "eeeekke"},
      {Reshaped("signal", {1, 32, 1}) + NodeText("DFT", "'signal', 'v'"), "eeeeeee"},
      {Reshaped("signal", {1, 32, 1}) + NodeText("DFT", "'signal', '', 'v'"), "eeeeeee"},
      {Reshaped("signal", {1, 32, 1}) + IntsText("four", {4}) +
           NodeText("STFT", "'signal', 'v', '', 'four'"),
       "eeeeeke"},
      {Reshaped("signal", {1, 32, 1}) + IntsText("four", {4}) +
           NodeText("STFT", "'signal', 'four', '', 'v'"),
       "eeeeeee"},
      {NodeText("HannWindow", "'v'"), "eeeeeee"},
      {IntsText("n", {8}) + NodeText("MelWeightMatrix", "'v', 'n', 'n', 'n', 'n'"), "eeeeeee"},
      {IntsText("n", {8}) + NodeText("MelWeightMatrix", "'n', 'v', 'n', 'n', 'n'"), "eeeeeee"},
      {halves + IntsText("n", {1}) + NodeText("OneHot", "'n', 'v', 'two'"), "eeeeeee"},
      {halves + NodeText("OneHot", "'x', 'v', 'two'"), "eeeeeee"},
      {NodeText("Range", "'v', 'v', 'v'"), "ekkkkkk"},
      {NodeText("Loop", "'v', '', 'x'", loop), "eeeekee"},
      {IntsText("one", {1}) + NodeText("Slice", "'x', 'v', 'one', 'one'"), "eeeekke"},
      {IntsText("one", {1}) + NodeText("Slice", "'x', 'one', 'v', 'one'"), "eeeekke"},
      {IntsText("one", {1}) + NodeText("Slice", "'x', 'one', 'one', 'v'"), "eeeeeee"},
      {IntsText("one", {1}) + NodeText("Slice", "'x', 'one', 'one', 'one', 'v'"), "eeeekke"},
      {NodeText("Gather", "'x', 'v'"), "eeeeeee"},
  };
  for (const ScalarRow& row : rows) {
    for (size_t i = 0; i < std::size(kNumbers); ++i) {
      SCOPED_TRACE(absl::StrCat(row.graph, kNumbers[i].name));
      const std::string v = absl::StrCat("initializer { name: 'v' ", kNumbers[i].text, " }\n");
      const absl::StatusOr<Graph> graph = ReadText(ModelText(v + row.graph, row.version));
      if (row.allowed[i] == 'e') {
        ExpectErrorOfNode(graph.status());
      } else if (graph.ok()) {
        EXPECT_TRUE(EvaluateGraph(*graph, {{"x", Input()}}).ok());
      } else {
        ADD_FAILURE() << graph.status();
      }
    }
  }
}

// Returns the one output of a graph after the scalar `v`.
HostTensor Computed(const Number& v, const std::string& graph) {
  const absl::StatusOr<Graph> read =
      ReadText(ModelText(absl::StrCat("initializer { name: 'v' ", v.text, " }\n", graph), 20));
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? Value(EvaluateGraph(*read, {{"x", Input()}}))[0] : HostTensor();
}

TEST(OnnxExtremeNumbers, ADiagonalBeyondTheMatrixKeepsAllOrNothing) {
  const HostTensor x = Input(), none = HostTensor::Zeros(DType::kFloat32, x.shape());
  for (const bool upper : {true, false}) {
    for (const Number& k : {kNumbers[4], kNumbers[5]}) {
      SCOPED_TRACE(absl::StrCat(upper, k.name));
      const bool all = upper == (k.name[0] == '-');
      EXPECT_TRUE(Near(Computed(k, NodeText("Trilu", "'x', 'v'", IntAttribute("upper", upper))),
                       all ? x : none, 0));
    }
  }
}

TEST(OnnxExtremeNumbers, AStepBeyondTheSignalLeavesOneFrame) {
  const std::string graph = Reshaped("signal", {1, 32, 1}) + IntsText("four", {4}) +
                            IntsText("far", {100}) + NodeText("STFT", "'signal', 'v', '', 'four'");
  const HostTensor frame = Computed(kNumbers[5], graph);
  EXPECT_EQ(frame.shape(), Shape({1, 1, 3, 2}));
}

TEST(OnnxExtremeNumbers, ARangeAgainstItsStepIsEmpty) {
  const std::string numbers =
      "initializer { name: 'zero' data_type: 11 double_data: 0 }\n"
      "initializer { name: 'one' data_type: 11 double_data: 1 }\n";
  const HostTensor range = Computed(kNumbers[1], numbers + NodeText("Range", "'v', 'zero', 'one'"));
  EXPECT_EQ(range.shape(), Shape({0}));
}

// Attributes that a cast to 32 bits would turn into something else.
TEST(OnnxExtremeNumbers, AttributesBeyond32Bits) {
  constexpr int64_t kFar = int64_t{1} << 32;
  const std::string scan =
      "attribute { name: 'body' type: GRAPH g { name: 'b' node { op_type: 'Identity' input: 'a' "
      "output: 'o' } input { name: 'a' } output { name: 'o' } } } ";
  const std::string scale = "initializer { name: 'scale' data_type: 1 float_data: 1 }\n";
  const std::string graphs[] = {
      NodeText("Cast", "'x'", IntAttribute("to", kFar + 1)),
      NodeText("BitCast", "'x'", IntAttribute("to", kFar + 6)),
      scale + NodeText("QuantizeLinear", "'x', 'scale'", IntAttribute("output_dtype", kFar + 2)),
      Reshaped("m", {4, 8}) + NodeText("EyeLike", "'m'", IntAttribute("dtype", kFar + 1)),
      NodeText("Scan", "'x'", scan + IntAttribute("num_scan_inputs", kFar + 1)),
      NodeText(
          "Scan", "'x'",
          scan + IntAttribute("num_scan_inputs", 1) + IntsAttribute("scan_output_axes", {kFar})),
      NodeText(
          "Scan", "'x'",
          scan + IntAttribute("num_scan_inputs", 1) + IntsAttribute("scan_input_axes", {kFar})),
  };
  for (const std::string& graph : graphs) {
    SCOPED_TRACE(graph);
    ExpectErrorOfNode(ReadText(ModelText(graph, 26)).status());
  }
}

TEST(OnnxExtremeNumbers, ListsOfTensorsOfUnequalOrGreatestRank) {
  const auto stack = [](const std::string& tensors) {
    return tensors + "node { op_type: 'SequenceConstruct' input: ['a', 'b'] output: 's' }\n" +
           NodeText("ConcatFromSequence", "'s'",
                    IntAttribute("axis", -1) + IntAttribute("new_axis", 1));
  };
  ExpectErrorOfNode(
      ReadText(ModelText(stack(Reshaped("a", {1, 2, 4, 4}) + Reshaped("b", {32})))).status());
  const std::vector<int64_t> most = {1, 1, 1, 1, 2, 4, 4, 1};
  ExpectErrorOfNode(ReadText(ModelText(stack(Reshaped("a", most) + Reshaped("b", most)))).status());
}

}  // namespace
}  // namespace ashlar::testing
