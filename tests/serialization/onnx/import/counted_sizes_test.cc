// Tile, Expand, ConstantOfShape and Range whose sizes depend on data, and tensors of which two
// sizes do, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <random>

#include "serialization/counted_results.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int kCodeOfInt64 = 7;
constexpr int64_t kElements = 6;

std::string NodeText(const std::string& type, const std::vector<std::string>& inputs,
                     const std::string& output, const std::string& attributes = "") {
  std::string text = absl::StrCat("node { op_type: '", type, "' name: 'node_", output, "' ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  return absl::StrCat(text, "output: '", output, "' ", attributes, "} ");
}

// Finds `n` {1}, the number of elements of x that are not 0; `v` {n}, these; `m` {1} and `w` {m},
// the same for elements above 1.
std::string Found() {
  const auto find = [](const std::string& of, const std::string& places, const std::string& values,
                       const std::string& number) {
    return NodeText("NonZero", {of}, places) +
           NodeText("Squeeze", {places, "zero"}, places + "_row") +
           NodeText("Gather", {"x", places + "_row"}, values) + NodeText("Shape", {values}, number);
  };
  return IntsText("zero", {0}) + IntsText("one", {1}) + IntsText("two", {2}) +
         IntsText("three", {3}) + IntsText("some", {7, 8, 9}) +
         "initializer { name: 'o' data_type: 1 dims: 1 float_data: 1 } "
         "initializer { name: 'nought' data_type: 7 int64_data: 0 } "
         "initializer { name: 'unit' data_type: 7 int64_data: 1 } "
         "initializer { name: 'minus' data_type: 7 int64_data: -2 } " +
         find("x", "z", "v", "n") + NodeText("Greater", {"x", "o"}, "large") +
         find("large", "q", "w", "m");
}

std::string SizesModel(const std::string& nodes) {
  return absl::StrCat("ir_version: 8 opset_import { version: 17 } graph { name: 'g' ", nodes,
                      "input ", ValueText("x", {kElements}), "input ",
                      ValueText("s", {1}, kCodeOfInt64), "output { name: 'y' } }");
}

// A result: its shape, and its elements in row-major order.
struct Result {
  std::vector<int64_t> shape;
  std::vector<double> elements;
  friend bool operator==(const Result&, const Result&) = default;
  friend void PrintTo(const Result& result, std::ostream* out) {
    *out << "{" << absl::StrJoin(result.shape, ",") << "} of "
         << absl::StrJoin(result.elements, " ");
  }
};

// Returns the elements by index of a matrix.
Result Matrix(size_t rows, size_t columns, const std::function<double(size_t, size_t)>& at) {
  Result result = {{static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, {}};
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) result.elements.push_back(at(i, j));
  }
  return result;
}

Result Vector(size_t size, const std::function<double(size_t)>& at) {
  Result result = Matrix(1, size, [&](size_t, size_t j) { return at(j); });
  result.shape.erase(result.shape.begin());
  return result;
}

using Numbers = std::vector<double>;

struct SizesCase {
  const char* name;
  std::string nodes;
  Result (*expected)(const Numbers& v, const Numbers& w);
};

std::vector<SizesCase> Cases() {
  const std::string concat = IntAttribute("axis", 0);
  const std::string columns = NodeText("Unsqueeze", {"v", "one"}, "vc"),
                    row = NodeText("Unsqueeze", {"w", "zero"}, "wr"),
                    pairs = columns + row + NodeText("Sub", {"vc", "wr"}, "d");
  const std::string fill =
      "attribute { name: 'value' type: TENSOR t { data_type: 7 dims: 1 int64_data: 5 } } ";
  const auto difference = [](const Numbers& v, const Numbers& w) {
    return Matrix(v.size(), w.size(), [&](size_t i, size_t j) {
      return static_cast<double>(static_cast<float>(v[i]) - static_cast<float>(w[j]));
    });
  };
  return {
      {"fill", NodeText("ConstantOfShape", {"n"}, "y", fill),
       [](const Numbers& v, const Numbers&) { return Vector(v.size(), [](size_t) { return 5; }); }},
      {"fill a matrix",
       NodeText("Concat", {"n", "m"}, "both", concat) +
           NodeText("ConstantOfShape", {"both"}, "y", fill),
       [](const Numbers& v, const Numbers& w) {
         return Matrix(v.size(), w.size(), [](size_t, size_t) { return 5; });
       }},
      {"expand",
       NodeText("Concat", {"n", "three"}, "to", concat) + NodeText("Expand", {"some", "to"}, "y"),
       [](const Numbers& v, const Numbers&) {
         return Matrix(v.size(), 3, [](size_t, size_t j) { return 7 + static_cast<double>(j); });
       }},
      {"expand a counted row",
       NodeText("Concat", {"m", "n"}, "to", concat) + NodeText("Expand", {"v", "to"}, "y"),
       [](const Numbers& v, const Numbers& w) {
         return Matrix(w.size(), v.size(), [&](size_t, size_t j) { return v[j]; });
       }},
      {"range",
       NodeText("Squeeze", {"n"}, "end") + NodeText("Range", {"nought", "end", "unit"}, "y"),
       [](const Numbers& v, const Numbers&) {
         return Vector(v.size(), [](size_t i) { return static_cast<double>(i); });
       }},
      {"range down by two",
       NodeText("Squeeze", {"n"}, "end") + NodeText("Range", {"end", "nought", "minus"}, "y"),
       [](const Numbers& v, const Numbers&) {
         return Vector((v.size() + 1) / 2, [&](size_t i) {
           return static_cast<double>(v.size()) - 2 * static_cast<double>(i);
         });
       }},
      {"range between two counts",
       NodeText("Squeeze", {"m"}, "begin") + NodeText("Squeeze", {"n"}, "end") +
           NodeText("Range", {"begin", "end", "unit"}, "y"),
       [](const Numbers& v, const Numbers& w) {
         return Vector(v.size() - w.size(),
                       [&](size_t i) { return static_cast<double>(w.size() + i); });
       }},
      {"tile by a count", NodeText("Tile", {"some", "n"}, "y"),
       [](const Numbers& v, const Numbers&) {
         return Vector(3 * v.size(), [](size_t i) { return 7 + static_cast<double>(i % 3); });
       }},
      {"tile a counted vector", NodeText("Tile", {"v", "three"}, "y"),
       [](const Numbers& v, const Numbers&) {
         return Vector(3 * v.size(), [&](size_t i) { return v[i % v.size()]; });
       }},
      {"tile a counted vector by a count", NodeText("Tile", {"v", "m"}, "y"),
       [](const Numbers& v, const Numbers& w) {
         return Vector(w.size() * v.size(), [&](size_t i) { return v[i % v.size()]; });
       }},
      {"tile another axis by a count",
       columns + NodeText("Concat", {"two", "m"}, "to", concat) +
           NodeText("Tile", {"vc", "to"}, "y"),
       [](const Numbers& v, const Numbers& w) {
         return Matrix(2 * v.size(), w.size(), [&](size_t i, size_t) { return v[i % v.size()]; });
       }},
      {"pairs", pairs + NodeText("Identity", {"d"}, "y"), difference},
      {"pairs, then a function", pairs + NodeText("Abs", {"d"}, "y"),
       [](const Numbers& v, const Numbers& w) {
         return Matrix(v.size(), w.size(), [&](size_t i, size_t j) {
           return std::abs(
               static_cast<double>(static_cast<float>(v[i]) - static_cast<float>(w[j])));
         });
       }},
      {"pairs meet pairs",
       pairs + NodeText("Sub", {"d", "vc"}, "e") + NodeText("Add", {"e", "d"}, "f") +
           NodeText("Sub", {"f", "e"}, "y"),
       nullptr},
      {"turned pairs", pairs + NodeText("Transpose", {"d"}, "y"),
       [](const Numbers& v, const Numbers& w) {
         return Matrix(w.size(), v.size(), [&](size_t i, size_t j) {
           return static_cast<double>(static_cast<float>(v[j]) - static_cast<float>(w[i]));
         });
       }},
      {"largest of each row",
       pairs + NodeText("ReduceMax", {"d"}, "y",
                        IntsAttribute("axes", {1}) + IntAttribute("keepdims", 0)),
       [](const Numbers& v, const Numbers& w) {
         return Vector(v.size(), [&](size_t i) {
           double most = -INFINITY;
           for (const double b : w) {
             most = std::max<double>(most, static_cast<float>(v[i]) - static_cast<float>(b));
           }
           return most;
         });
       }},
      {"number of pairs above 0",
       pairs + "initializer { name: 'nil' data_type: 1 float_data: 0 } " +
           NodeText("Greater", {"d", "nil"}, "above") +
           NodeText("Cast", {"above"}, "numbers", IntAttribute("to", kCodeOfInt64)) +
           NodeText("ReduceSum", {"numbers"}, "y", IntAttribute("keepdims", 0)),
       [](const Numbers& v, const Numbers& w) {
         double number = 0;
         for (const double a : v) {
           for (const double b : w) number += a > b;
         }
         return Result{{}, {number}};
       }},
      {"shape of pairs", pairs + NodeText("Shape", {"d"}, "y"),
       [](const Numbers& v, const Numbers& w) {
         return Result{{2}, {static_cast<double>(v.size()), static_cast<double>(w.size())}};
       }},
  };
}

Result CutResult(const Graph& graph, const std::vector<HostTensor>& results) {
  NamedTensors named;
  for (size_t i = 0; i < results.size(); ++i) {
    named.emplace_back(graph.outputs()[i].name, results[i]);
  }
  const HostTensor y = CutToCounts(std::move(named), graph)[0].second;
  Result result;
  result.shape.assign(y.shape().dims().begin(), y.shape().dims().end());
  for (int64_t i = 0; i < y.num_elements(); ++i) result.elements.push_back(y.At(i));
  return result;
}

TEST(CountedSizes, ArePlannedForTheMostWithTheirCounts) {
  std::mt19937_64 random(45);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (const SizesCase& c : Cases()) {
    const absl::StatusOr<Graph> read = ReadText(SizesModel(Found() + c.nodes));
    ASSERT_TRUE(read.ok()) << c.name << ": " << read.status();
    const Graph& graph = *read;
    LoadedModel loaded(graph);
    for (const float share : {0.0F, 0.3F, 0.7F, 1.0F}) {
      SCOPED_TRACE(absl::StrCat(c.name, ", share ", share));
      HostTensor x = HostTensor::Zeros(DType::kFloat32, {kElements});
      Numbers v, w;
      for (int64_t i = 0; i < kElements; ++i) {
        if (uniform(random) >= share) continue;
        x.Set(i, 0.1 + 1.8 * uniform(random));
        v.push_back(x.At(i));
        if (x.At(i) > 1) w.push_back(x.At(i));
      }
      const HostTensor s = HostTensor::Zeros(DType::kInt64, {1});
      const Result evaluated = CutResult(graph, Value(EvaluateGraph(graph, {{"x", x}, {"s", s}})));
      EXPECT_EQ(CutResult(graph, loaded.Run({{"x", x}, {"s", s}})), evaluated);
      if (c.expected != nullptr) {
        EXPECT_EQ(evaluated, c.expected(v, w));
      }
      const bool empty = std::count(evaluated.shape.begin(), evaluated.shape.end(), 0) > 0;
      if (share == 0 && !evaluated.shape.empty() && evaluated.shape != Shape{2}.dims()) {
        EXPECT_TRUE(empty) << "of nothing";
      }
    }
  }
}

// The sizes are an input: nothing but a bound says how large they may be.
TEST(CountedSizes, OfDataNeedABound) {
  const struct {
    const char* type;
    std::vector<std::string> inputs;
    int64_t unit;  // elements of y by the number in s
  } rows[] = {{"ConstantOfShape", {"s"}, 1},
              {"Expand", {"o", "s"}, 1},
              {"Tile", {"some", "s"}, 3},
              {"Range", {"nought", "end", "unit"}, 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.type);
    const std::string text = SizesModel(Found() + NodeText("Squeeze", {"s"}, "end") +
                                        NodeText(row.type, row.inputs, "y"));
    const absl::Status refused = ReadText(text).status();
    EXPECT_TRUE(FailsWith(refused, row.type));
    EXPECT_TRUE(FailsWith(refused, "known before the run; --bound y=NUMBER plans for as many"));
    OnnxReadOptions options;
    options.bounds["y"] = 4;
    const Graph graph = Value(ReadText(text, options));
    LoadedModel loaded(graph);
    const HostTensor x = HostTensor::Zeros(DType::kFloat32, {kElements});
    for (const int64_t size : {0, 1, 4}) {
      HostTensor s = HostTensor::Zeros(DType::kInt64, {1});
      s.SetInteger(0, size);
      const Result result = CutResult(graph, loaded.Run({{"x", x}, {"s", s}}));
      EXPECT_EQ(result.shape, (std::vector<int64_t>{size * row.unit}));
      EXPECT_EQ(CutResult(graph, Value(EvaluateGraph(graph, {{"x", x}, {"s", s}}))), result);
    }
    for (const int64_t size : {5, -1}) {
      if (size < 0 && std::string(row.type) == "Range") continue;  // which is empty then
      HostTensor s = HostTensor::Zeros(DType::kInt64, {1});
      s.SetInteger(0, size);
      const absl::Status status = EvaluateGraph(graph, {{"x", x}, {"s", s}}).status();
      EXPECT_TRUE(FailsWith(status, "--bound"));
      EXPECT_TRUE(FailsWith(status, absl::StrCat("is ", size, ", expected")));
      EXPECT_TRUE(FailsWith(status, "node_y"));
    }
  }
}

// Regression: delta was read as a double and cut to an integer, so 1.5 counted as 1, and the
// smallest integer has no absolute value.
TEST(CountedSizes, DeltasOfRangeAreIntegersOfItsDType) {
  const std::pair<const char*, const char*> deltas[] = {
      {"data_type: 1 float_data: 1.5", "of one dtype"},
      {"data_type: 7 int64_data: -9223372036854775808", "of this delta"},
      {"data_type: 7 int64_data: 0", "delta is 0"}};
  for (const auto& [delta, error] : deltas) {
    SCOPED_TRACE(delta);
    const std::string text = SizesModel(
        Found() + absl::StrCat("initializer { name: 'delta' ", delta, " } ") +
        NodeText("Squeeze", {"n"}, "end") + NodeText("Range", {"nought", "end", "delta"}, "y"));
    EXPECT_TRUE(FailsWith(ReadText(text).status(), error));
  }
}

// They would take fill for elements.
TEST(CountedSizes, OtherReadersOfTwoAreRefusedByName) {
  const std::string pairs = NodeText("Unsqueeze", {"v", "one"}, "vc") +
                            NodeText("Unsqueeze", {"w", "zero"}, "wr") +
                            NodeText("Sub", {"vc", "wr"}, "d");
  const std::pair<const char*, std::vector<std::string>> readers[] = {
      {"MatMul", {"d", "d"}},
      {"Softmax", {"d"}},
      {"Flatten", {"d"}},
      {"TopK", {"d", "one"}},
      {"Slice", {"d", "zero", "one"}},
      {"Gather", {"d", "zero"}},
      {"NonZero", {"d"}},
      {"CumSum", {"d", "one"}},
      {"Concat", {"d", "d"}}};
  for (const auto& [type, inputs] : readers) {
    const absl::Status status =
        ReadText(SizesModel(Found() + pairs +
                            NodeText(type, inputs, "y",
                                     std::string(type) == "Concat" ? IntAttribute("axis", 0) : "")))
            .status();
    EXPECT_TRUE(FailsWith(status, type));
    EXPECT_TRUE(FailsWith(status, "depend"));
  }
}

}  // namespace
}  // namespace ashlar::testing
