// Loop and Scan, unrolled, against plain loops; other loops are refused by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "serialization/counted_results.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int kFloatType = 1, kInt64Type = 7, kBoolType = 9;  // ONNX's numbers

std::string Op(const std::string& type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs, const std::string& attributes = "") {
  std::string text = absl::StrCat("node { op_type: '", type, "' name: 'the_", type, "' ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  for (const std::string& output : outputs) absl::StrAppend(&text, "output: '", output, "' ");
  return absl::StrCat(text, attributes, "}\n");
}

std::string IntText(const std::string& name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}

std::string Number(const std::string& name, double value) {
  return absl::StrCat("initializer { name: '", name, "' data_type: 1 float_data: ", value, " }\n");
}
std::string Whole(const std::string& name, int64_t value) {
  return absl::StrCat("initializer { name: '", name, "' data_type: 7 int64_data: ", value, " }\n");
}

// A graph in an attribute. Inputs have no declared types.
std::string BodyText(const std::string& name, const std::vector<std::string>& inputs,
                     const std::string& nodes, const std::vector<std::string>& outputs) {
  std::string text =
      absl::StrCat("attribute { name: '", name, "' type: GRAPH g { name: 'b' ", nodes);
  for (const std::string& input : inputs) absl::StrAppend(&text, "input { name: '", input, "' } ");
  for (const std::string& output : outputs) {
    absl::StrAppend(&text, "output { name: '", output, "' } ");
  }
  return text + "} } ";
}

std::string Model(const std::string& graph, const std::string& inputs,
                  const std::vector<std::string>& outputs, int version = 17) {
  std::string text = absl::StrCat("ir_version: 8 opset_import { version: ", version,
                                  " } graph { name: 'g' ", graph, inputs);
  for (const std::string& output : outputs) {
    absl::StrAppend(&text, "output { name: '", output, "' } ");
  }
  return text + "}";
}

std::string Input(const std::string& name, const Shape& shape, int type = kFloatType) {
  return "input " + ValueText(name, shape, type);
}

// Expects the outputs, cut to their counts, from the host's evaluation and from a session.
void ExpectOutputs(const Graph& graph, const InputTensors& inputs,
                   const std::vector<std::vector<double>>& expected,
                   const std::vector<Shape>& shapes) {
  for (const auto& results : {Value(EvaluateGraph(graph, {inputs.begin(), inputs.end()})),
                              LoadedModel(graph).Run(inputs)}) {
    NamedTensors named;
    for (size_t i = 0; i < results.size(); ++i) {
      named.emplace_back(graph.outputs()[i].name, results[i]);
    }
    named = CutToCounts(std::move(named), graph);
    for (size_t o = 0; o < expected.size(); ++o) {
      const HostTensor& got = named[o].second;
      ASSERT_EQ(got.shape(), shapes[o]) << named[o].first;
      for (int64_t i = 0; i < got.num_elements(); ++i) {
        EXPECT_NEAR(got.At(i), expected[o][static_cast<size_t>(i)], 1e-5)
            << named[o].first << " element " << i;
      }
    }
  }
}

HostTensor Floats(const Shape& shape, const std::function<double(int64_t)>& at) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, at(i));
  return tensor;
}

// sum = sum * 0.5 + x[i]; each result is the sum's square.
std::string Accumulating(const std::string& condition = "") {
  return BodyText("body", {"i", "c", "sum"},
                  Op("Gather", {"x", "i"}, {"e"}) + Op("Mul", {"sum", "half"}, {"s"}) +
                      Op("Add", {"s", "e"}, {"next"}) + Op("Mul", {"next", "next"}, {"square"}) +
                      (condition.empty() ? Op("Identity", {"c"}, {"goes"}) : condition),
                  {"goes", "next", "square"});
}

struct Accumulated {
  double sum = 0;
  std::vector<double> squares;
};

Accumulated Accumulate(const HostTensor& x, int64_t trips, double limit = INFINITY) {
  Accumulated result;
  for (int64_t i = 0; i < trips; ++i) {
    result.sum = result.sum * 0.5 + x.At(i);
    result.squares.push_back(result.sum * result.sum);
    if (!(result.sum < limit)) break;
  }
  return result;
}

TEST(Loops, OfAKnownTripCountAreUnrolled) {
  for (const int64_t trips : {1, 4, 7}) {
    const Graph graph = Value(
        ReadText(Model(Number("half", 0.5) + Number("zero", 0) + Whole("trips", trips) +
                           Op("Loop", {"trips", "", "zero"}, {"y", "squares"}, Accumulating()),
                       Input("x", {7}), {"y", "squares"})));
    const HostTensor x =
        Floats({7}, [](int64_t i) { return std::sin(static_cast<double>(i) + 1); });
    const Accumulated expected = Accumulate(x, trips);
    ExpectOutputs(graph, {{"x", x}}, {{expected.sum}, expected.squares}, {{}, {trips}});
  }
}

// The loop runs as often as x has positive elements.
TEST(Loops, OfACountArePlannedForTheMost) {
  const Graph graph = Value(
      ReadText(Model(Number("half", 0.5) + Number("zero", 0) + Op("Greater", {"x", "zero"}, {"p"}) +
                         Op("NonZero", {"p"}, {"z"}) + Op("Shape", {"z"}, {"shape"}) +
                         Whole("one", 1) + Op("Gather", {"shape", "one"}, {"trips"}) +
                         Op("Loop", {"trips", "", "zero"}, {"y", "squares"}, Accumulating()),
                     Input("x", {6}), {"y", "squares"})));
  for (int64_t positive = 0; positive <= 6; ++positive) {
    const HostTensor x = Floats({6}, [&](int64_t i) {
      return (i < positive ? 1 : -1) * (1 + 0.1 * static_cast<double>(i));
    });
    const Accumulated expected = Accumulate(x, positive);
    ExpectOutputs(graph, {{"x", x}}, {{expected.sum}, expected.squares}, {{}, {positive}});
  }
}

// Indices that only iterations which the run does not reach would read are no error.
TEST(Loops, IterationsThatAreNotReachedCheckNothing) {
  const Graph graph = Value(ReadText(
      Model(Number("zero", 0) + Op("Greater", {"x", "zero"}, {"p"}) + Op("NonZero", {"p"}, {"z"}) +
                Whole("first", 0) + Op("Gather", {"z", "first"}, {"row"}) +
                Op("Gather", {"x", "row"}, {"v"}) + Op("Shape", {"v"}, {"n"}) +
                Op("Loop", {"n", "", "zero"}, {"y"},
                   BodyText("body", {"i", "c", "sum"},
                            Op("Gather", {"v", "i"}, {"e"}) + Op("Add", {"sum", "e"}, {"next"}) +
                                Op("Identity", {"c"}, {"goes"}),
                            {"goes", "next"})),
            Input("x", {5}), {"y"})));
  for (const double sign : {-1.0, 1.0}) {
    const HostTensor x = Floats({5}, [&](int64_t i) { return sign * (i % 2 == 0 ? 1.5 : -1.0); });
    ExpectOutputs(graph, {{"x", x}}, {{sign > 0 ? 4.5 : 2.0}}, {{}});
  }
}

TEST(Loops, EndByAConditionOfTheRun) {
  const std::string loop = Number("half", 0.5) + Number("zero", 0) + Number("limit", 1.2) +
                           Whole("trips", 5) +
                           Op("Loop", {"trips", "", "zero"}, {"y", "squares"},
                              Accumulating(Op("Less", {"next", "limit"}, {"goes"})));
  const Graph graph = Value(ReadText(Model(loop, Input("x", {5}), {"y", "squares"})));
  for (const double scale : {0.0, 0.3, 0.7, 1.0, 3.0}) {
    const HostTensor x = Floats({5}, [&](int64_t) { return scale; });
    const Accumulated expected = Accumulate(x, 5, static_cast<double>(1.2F));
    ExpectOutputs(graph, {{"x", x}}, {{expected.sum}, expected.squares},
                  {{}, {static_cast<int64_t>(expected.squares.size())}});
  }
}

// The condition follows from the iteration, so the loop has no trip count and needs none.
TEST(Loops, EndByAConditionThatIsKnown) {
  for (const char* const trips : {"", "endless"}) {  // PyTorch writes `while` by the latter
    const Graph graph =
        Value(ReadText(Model(Number("half", 0.5) + Number("zero", 0) + Whole("last", 2) +
                                 Whole("endless", std::numeric_limits<int64_t>::max()) +
                                 Op("Loop", {trips, "", "zero"}, {"y", "squares"},
                                    Accumulating(Op("Less", {"i", "last"}, {"goes"}))),
                             Input("x", {5}), {"y", "squares"})));
    const HostTensor x = Floats({5}, [](int64_t i) { return 0.5 + static_cast<double>(i); });
    const Accumulated expected = Accumulate(x, 3);
    ExpectOutputs(graph, {{"x", x}}, {{expected.sum}, expected.squares}, {{}, {3}});
  }
}

TEST(Loops, WithoutATripCountThatEndByAConditionOfTheRunAreRefused) {
  for (const char* const trips : {"", "endless"}) {
    const absl::Status refused =
        ReadText(Model(Number("half", 0.5) + Number("zero", 0) + Number("limit", 1.2) +
                           Whole("endless", std::numeric_limits<int64_t>::max()) +
                           Op("Loop", {trips, "", "zero"}, {"y", "squares"},
                              Accumulating(Op("Less", {"next", "limit"}, {"goes"}))),
                       Input("x", {5}), {"y", "squares"}))
            .status();
    EXPECT_TRUE(FailsWith(refused, "its number of iterations is not known before the run"));
  }
}

// Lists grow so in PyTorch. They are joined once, of as many parts as there are iterations.
TEST(Loops, AStateThatGrowsIsJoinedOnce) {
  for (const bool counted : {false, true}) {
    const std::string trips = counted ? Op("Greater", {"x", "zero"}, {"p"}) +
                                            Op("NonZero", {"p"}, {"z"}) +
                                            Op("Shape", {"z"}, {"shape"}) + Whole("one", 1) +
                                            Op("Gather", {"shape", "one"}, {"trips"})
                                      : Whole("trips", 4);
    const Graph graph = Value(ReadText(Model(
        Number("zero", 0) + IntsText("rows", {1, 2}) + trips +
            "initializer { name: 'none' data_type: 1 dims: [0, 2] }\n" +
            Op("Loop", {"trips", "", "none"}, {"y"},
               BodyText("body", {"i", "c", "all"},
                        Op("Gather", {"x", "i"}, {"e"}) + Op("Expand", {"e", "rows"}, {"row"}) +
                            Op("Concat", {"all", "row"}, {"next"}, IntText("axis", 0)) +
                            Op("Identity", {"c"}, {"goes"}),
                        {"goes", "next"})),
        Input("x", {4}), {"y"})));
    int joins = 0;
    for (const OperatorNode& node : graph.nodes()) {
      joins += std::string(node.op->type()) == "Concat" ? 1 : 0;
    }
    EXPECT_EQ(joins, counted ? 2 : 1);  // the other joins the shape of z
    for (const int64_t positive : {0, 2, 4}) {
      const HostTensor x = Floats(
          {4}, [&](int64_t i) { return (i < positive ? 1.0 : -1.0) * static_cast<double>(i + 1); });
      std::vector<double> expected;
      const int64_t rows = counted ? positive : 4;
      for (int64_t i = 0; i < rows; ++i) expected.insert(expected.end(), {x.At(i), x.At(i)});
      ExpectOutputs(graph, {{"x", x}}, {expected}, {{rows, 2}});
    }
  }
}

TEST(Loops, InsideOfLoops) {
  const std::string inner =
      Op("Loop", {"two", "", "sum"}, {"next"},
         BodyText("body", {"j", "d", "t"},
                  Op("Gather", {"x", "i"}, {"a"}) + Op("Gather", {"x", "j"}, {"b"}) +
                      Op("Mul", {"a", "b"}, {"ab"}) + Op("Add", {"t", "ab"}, {"u"}) +
                      Op("Identity", {"d"}, {"on"}),
                  {"on", "u"}));
  const Graph graph = Value(
      ReadText(Model(Number("zero", 0) + Whole("two", 2) + Whole("three", 3) +
                         Op("Loop", {"three", "", "zero"}, {"y"},
                            BodyText("body", {"i", "c", "sum"},
                                     inner + Op("Identity", {"c"}, {"goes"}), {"goes", "next"})),
                     Input("x", {3}), {"y"})));
  const HostTensor x = Floats({3}, [](int64_t i) { return static_cast<double>(i + 1); });
  ExpectOutputs(graph, {{"x", x}}, {{(1 + 2 + 3) * (1 + 2)}}, {{}});
}

TEST(Loops, OfAnUnknownTripCountNeedABound) {
  const std::string text =
      Model(Number("half", 0.5) + Number("zero", 0) +
                Op("Loop", {"trips", "", "zero"}, {"y", "squares"}, Accumulating()),
            Input("x", {7}) + Input("trips", {}, kInt64Type), {"y", "squares"});
  const absl::Status refused = ReadText(text).status();
  EXPECT_TRUE(FailsWith(refused, "the_Loop"));
  EXPECT_TRUE(FailsWith(refused, "not known before the run, as it depends on input trips"));
  EXPECT_TRUE(FailsWith(refused, "; --bound y=NUMBER plans for as many"));
  OnnxReadOptions options;
  options.bounds["the_Loop"] = 3;
  const Graph graph = Value(ReadText(text, options));
  const HostTensor x = Floats({7}, [](int64_t i) { return 1 + static_cast<double>(i); });
  HostTensor trips = HostTensor::Zeros(DType::kInt64, {});
  for (int64_t n = 0; n <= 3; ++n) {
    trips.SetInteger(0, n);
    const Accumulated expected = Accumulate(x, n);
    ExpectOutputs(graph, {{"x", x}, {"trips", trips}}, {{expected.sum}, expected.squares},
                  {{}, {n}});
  }
  trips.SetInteger(0, 4);
  const absl::Status more = EvaluateGraph(graph, {{"x", x}, {"trips", trips}}).status();
  EXPECT_TRUE(FailsWith(more, "the number of iterations (--bound) is 4, expected at most 3"));
  EXPECT_TRUE(FailsWith(more, "the_Loop"));
}

TEST(Loops, OfTooManyNodesAreRefused) {
  const auto loop = [](const std::string& trips, const std::string& condition) {
    return ReadText(Model(Number("half", 0.5) + Number("zero", 0) + Whole("trips", 1'000'000) +
                              Op("Loop", {trips, "", "zero"}, {"y"},
                                 BodyText("body", {"i", "c", "sum"},
                                          Op("Add", {"sum", "x"}, {"next"}) +
                                              Op("Identity", {condition}, {"goes"}),
                                          {"goes", "next"})),
                          Input("x", {1}), {"y"}))
        .status();
  };
  EXPECT_TRUE(FailsWith(loop("trips", "c"),
                        "its 1000000 iterations of 2 nodes are more than 100000 nodes to unroll"));
  EXPECT_TRUE(FailsWith(loop("", "c"), "it does not end within 50000 iterations"));
}

TEST(Loops, BadBodiesAreErrors) {
  const auto loop = [](const std::string& body) {
    return ReadText(Model(Number("zero", 0) + Whole("trips", 2) +
                              Op("Loop", {"trips", "", "zero"}, {"y"}, body),
                          Input("x", {1}), {"y"}))
        .status();
  };
  EXPECT_TRUE(FailsWith(loop(""), "body is missing"));
  EXPECT_TRUE(FailsWith(loop(BodyText("body", {"i", "c"}, Op("Identity", {"c"}, {"d"}), {"d"})),
                        "2 inputs and 1 outputs, for 1 states"));
  EXPECT_TRUE(FailsWith(
      loop(BodyText("body", {"i", "c", "s"}, Op("Identity", {"x"}, {"d"}), {"gone", "d"})),
      "'gone'"));
}

// Scans x [2, 5] along axis 1 forwards and z [5] backwards: a running sum, stacked along axis 1.
TEST(Scans, AreUnrolledInBothDirections) {
  const std::string attributes =
      BodyText("body", {"sum", "column", "w"},
               Op("Mul", {"column", "w"}, {"p"}) + Op("Add", {"sum", "p"}, {"next"}) +
                   Op("Neg", {"next"}, {"minus"}) + Op("Identity", {"w"}, {"turned"}),
               {"next", "minus", "turned"}) +
      IntText("num_scan_inputs", 2) + IntsAttribute("scan_input_axes", {1, 0}) +
      IntsAttribute("scan_input_directions", {0, 1}) + IntsAttribute("scan_output_axes", {-1, 0}) +
      IntsAttribute("scan_output_directions", {0, 1});
  const Graph graph = Value(
      ReadText(Model("initializer { name: 'zeros' data_type: 1 dims: 2 float_data: [0, 0] }\n" +
                         Op("Scan", {"zeros", "x", "z"}, {"y", "all", "back"}, attributes),
                     Input("x", {2, 5}) + Input("z", {5}), {"y", "all", "back"})));
  const HostTensor x = Floats({2, 5}, [](int64_t i) { return std::cos(static_cast<double>(i)); });
  const HostTensor z = Floats({5}, [](int64_t i) { return 1 + 0.5 * static_cast<double>(i); });
  std::vector<double> sum(2, 0), all(10, 0), back(5, 0);
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t r = 0; r < 2; ++r) {
      const auto row = static_cast<size_t>(r);
      sum[row] += x.At(r * 5 + i) * z.At(4 - i);
      all[row * 5 + static_cast<size_t>(i)] = -sum[row];
    }
    back[static_cast<size_t>(i)] = z.At(i);
  }
  ExpectOutputs(graph, {{"x", x}, {"z", z}}, {sum, all, back}, {{2}, {2, 5}, {5}});
}

// A scan of elements whose number depends on data.
TEST(Scans, OfACountedInput) {
  const Graph graph = Value(ReadText(
      Model(Number("zero", 0) + Op("Greater", {"x", "zero"}, {"p"}) + Op("NonZero", {"p"}, {"z"}) +
                Whole("first", 0) + Op("Gather", {"z", "first"}, {"row"}) +
                Op("Gather", {"x", "row"}, {"v"}) +
                Op("Scan", {"zero", "v"}, {"y", "sums"},
                   BodyText("body", {"sum", "e"},
                            Op("Add", {"sum", "e"}, {"next"}) + Op("Identity", {"next"}, {"copy"}),
                            {"next", "copy"}) +
                       IntText("num_scan_inputs", 1)),
            Input("x", {5}), {"y", "sums"})));
  for (const double shift : {-10.0, 0.0, 10.0}) {
    const HostTensor x =
        Floats({5}, [&](int64_t i) { return std::sin(2.0 * static_cast<double>(i) + 1) + shift; });
    double sum = 0;
    std::vector<double> sums;
    for (int64_t i = 0; i < 5; ++i) {
      if (x.At(i) > 0) sums.push_back(sum += x.At(i));
    }
    ExpectOutputs(graph, {{"x", x}}, {{sum}, sums}, {{}, {static_cast<int64_t>(sums.size())}});
  }
}

// Errors of the branch that is not chosen are none.
TEST(Branches, OfAConditionOfTheRunAreBothComputed) {
  const std::string nodes =
      Number("zero", 0) + Op("Greater", {"x", "zero"}, {"p"}) + Op("NonZero", {"p"}, {"z"}) +
      Whole("first", 0) + Op("Gather", {"z", "first"}, {"row"}) +
      Op("Gather", {"x", "row"}, {"v"}) + IntsText("front", {0}) +
      Op("If", {"c"}, {"y"},
         BodyText("then_branch", {}, Op("Gather", {"v", "front"}, {"a"}), {"a"}) +
             BodyText("else_branch", {}, Op("Identity", {"x"}, {"b"}), {"b"}));
  const Graph graph =
      Value(ReadText(Model(nodes, Input("x", {3}) + Input("c", {}, kBoolType), {"y"})));
  HostTensor chosen = HostTensor::Zeros(DType::kBool, {});
  const HostTensor none = Floats({3}, [](int64_t i) { return -1.0 - static_cast<double>(i); });
  const HostTensor some = Floats({3}, [](int64_t i) { return static_cast<double>(i); });
  ExpectOutputs(graph, {{"x", none}, {"c", chosen}}, {{-1, -2, -3}}, {{3}});
  chosen.Set(0, 1);
  ExpectOutputs(graph, {{"x", some}, {"c", chosen}}, {{1}}, {{1}});
  EXPECT_TRUE(FailsWith(EvaluateGraph(graph, {{"x", none}, {"c", chosen}}).status(),
                        "index 0 is out of range for size 0"));
}

// y = a * k + b for the rows a of x, the rows b of z, and k.
TEST(SequenceMaps, ReadTheirGraphForEachElement) {
  const auto model = [](const std::string& second) {
    return ReadText(Model(
        Op("SplitToSequence", {"x"}, {"rows"}, IntText("keepdims", 0)) +
            Op("SplitToSequence", {second}, {"others"}, IntText("keepdims", 0)) + Number("one", 1) +
            Op("SequenceMap", {"rows", "k", "others"}, {"sums", "more"},
               BodyText("body", {"a", "factor", "b"},
                        Op("Mul", {"a", "factor"}, {"c"}) + Op("Add", {"c", "b"}, {"d"}) +
                            Op("Add", {"d", "one"}, {"e"}),
                        {"d", "e"})) +
            Op("ConcatFromSequence", {"sums"}, {"y"}, IntText("axis", 0)) +
            Op("ConcatFromSequence", {"more"}, {"u"}, IntText("axis", 0)),
        Input("x", {2, 2}) + Input("z", {2, 2}) + Input("w", {3, 2}) + Input("k", {}), {"y", "u"}));
  };
  const auto counting = [](int64_t i) { return static_cast<double>(i); };
  const auto hundreds = [](int64_t i) { return 100.0 * static_cast<double>(i); };
  ExpectOutputs(Value(model("z")),
                {{"x", Floats({2, 2}, counting)},
                 {"z", Floats({2, 2}, hundreds)},
                 {"w", Floats({3, 2}, counting)},
                 {"k", Floats({}, [](int64_t) { return 10.0; })}},
                {{0, 110, 220, 330}, {1, 111, 221, 331}}, {{4}, {4}});
  EXPECT_TRUE(FailsWith(model("w").status(), "sequences of 2 and 3 elements"));
}

// Reads a model whose SequenceMap applies nodes to each row of x, and that joins the results.
absl::Status ReadMapOfRows(const std::string& nodes) {
  return ReadText(Model(Op("SplitToSequence", {"x"}, {"rows"}, IntText("keepdims", 0)) +
                            Op("SequenceMap", {"rows"}, {"made"},
                               BodyText("body", {"a"}, nodes, {"b"})) +
                            Op("ConcatFromSequence", {"made"}, {"y"}, IntText("axis", -1)),
                        Input("x", {2, 3}), {"y"}))
      .status();
}

// Regression: fill of the elements became data of the tensor that joined them.
TEST(SequenceMaps, OfElementsWhoseSizesDependOnDataAreRefused) {
  const absl::Status refused = ReadMapOfRows(Op("NonZero", {"a"}, {"b"}));
  EXPECT_TRUE(absl::IsUnimplemented(refused)) << refused;
  EXPECT_TRUE(FailsWith(refused, "the_SequenceMap"));
  EXPECT_TRUE(FailsWith(refused, "the size of an element depends on data"));
}

// Regression: the elements that nothing had made were joined.
TEST(SequenceMaps, OfMissingOperatorsListThem) {
  const absl::Status refused = ReadMapOfRows(Op("Absent", {"a"}, {"c"}) + Op("Neg", {"c"}, {"b"}));
  EXPECT_TRUE(absl::IsUnimplemented(refused)) << refused;
  EXPECT_TRUE(FailsWith(refused, "Absent (ai.onnx 17)"));
}

}  // namespace
}  // namespace ashlar::testing
