// Results whose sizes depend on data: planned for the largest size, with a count beside.
#include "serialization/counted_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int kOnnxFloat = 1, kOnnxInt64 = 7, kOnnxBool = 9,
              kOnnxDouble = 11;  // ONNX's numbers of the types

std::string CountedModel(const std::string& nodes, const Shape& shape, int type,
                         const std::string& output = "output { name: 'y' }") {
  return absl::StrCat("ir_version: 8 opset_import { version: 17 } graph { name: 'g' ", nodes,
                      "input ", ValueText("x", shape, type), output, "}");
}

std::string NonZeroText(const std::string& output) {
  return absl::StrCat("node { op_type: 'NonZero' input: 'x' output: '", output, "' } ");
}

// Expects the result by ONNX's text: the indices of elements that are not 0, in row-major order.
void ExpectPlaces(const HostTensor& x, const HostTensor& y, const HostTensor& count,
                  bool transposed) {
  const int rank = x.shape().rank();
  const int64_t size = x.num_elements();
  ASSERT_EQ(y.dtype(), DType::kInt64);
  ASSERT_EQ(y.shape(), transposed ? Shape({size, rank}) : Shape({rank, size}));
  int64_t found = 0;
  const auto at = [&](int axis, int64_t i) {
    return y.IntegerAt(transposed ? i * rank + axis : axis * size + i);
  };
  for (int64_t i = 0; i < size; ++i) {
    if (x.At(i) == 0) continue;
    int64_t rest = i;
    for (int axis = rank - 1; axis >= 0; --axis) {
      EXPECT_EQ(at(axis, found), rest % x.shape()[axis]) << "element " << i << " axis " << axis;
      rest /= x.shape()[axis];
    }
    ++found;
  }
  ASSERT_EQ(count.shape(), Shape());
  EXPECT_EQ(count.IntegerAt(0), found);
  for (int64_t i = found; i < size; ++i) {
    for (int axis = 0; axis < rank; ++axis) EXPECT_EQ(at(axis, i), -1);
  }
}

struct CountedCase {
  int type;
  DType dtype;
  Shape shape;
  double share;  // of elements that are not 0
};

TEST(CountedResults, NonZeroHasTheIndicesAndTheirCount) {
  std::mt19937_64 random(43);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const CountedCase& c : std::vector<CountedCase>{
           {kOnnxFloat, DType::kFloat32, {5}, 0.5},
           {kOnnxFloat, DType::kFloat32, {3, 4, 5}, 0.3},
           {kOnnxFloat, DType::kFloat32, {2, 7}, 0},
           {kOnnxFloat, DType::kFloat32, {2, 7}, 1},
           {kOnnxBool, DType::kBool, {4, 9}, 0.5},
           {kOnnxInt64, DType::kInt64, {2, 3, 2, 2}, 0.6},
           {kOnnxDouble, DType::kFloat64, {6}, 0.5},
           {kOnnxFloat, DType::kFloat32, {1, 1}, 1},
       }) {
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(absl::StrCat(Name(c.dtype), " ", c.shape.ToString(), " ", transposed));
      HostTensor x = HostTensor::Zeros(c.dtype, c.shape);
      // 1e-300 is 0 as Float32.
      const double value = c.dtype == DType::kFloat64 ? 1e-300 : 1;
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        if (uniform(random) < c.share) x.Set(i, value);
      }
      const std::string nodes =
          transposed ? NonZeroText("z") + "node { op_type: 'Transpose' input: 'z' output: 'y' } "
                     : NonZeroText("y");
      const Graph graph = Value(ReadText(CountedModel(nodes, c.shape, c.type)));
      ASSERT_EQ(graph.outputs().size(), 2u);
      EXPECT_EQ(graph.outputs()[1].name, transposed ? "y.count" : "y.count1");
      for (const auto& results :
           {Value(EvaluateGraph(graph, {{"x", x}})), LoadedModel(graph).Run({{"x", x}})}) {
        ExpectPlaces(x, results[0], results[1], transposed);
      }
    }
  }
}

TEST(CountedResults, NotANumberIsNotZero) {
  const Graph graph = Value(ReadText(CountedModel(NonZeroText("y"), {3}, kOnnxFloat)));
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {3});
  x.Set(1, std::nan(""));
  const auto results = LoadedModel(graph).Run({{"x", x}});
  ExpectPlaces(x, results[0], results[1], false);
  EXPECT_EQ(results[1].IntegerAt(0), 1);
}

// Readers of the places that NonZero finds, as in detectors, against plain loops.
struct CountedFollower {
  const char* nodes;  // from places `z` [1, n] of positive elements of `x` [12], to `y`
  // The result, from x and its positive places.
  std::vector<double> (*expected)(const HostTensor& x, const std::vector<int64_t>& places);
};

constexpr char kRow[] =
    "node { op_type: 'Squeeze' input: 'z' input: 'zero' output: 'i' } "
    "node { op_type: 'Gather' input: 'x' input: 'i' output: 'v' } ";

// Makes a constant vector of integers, or a scalar.
std::string ConstantText(const std::string& name, const std::vector<int64_t>& values, bool scalar) {
  std::string text = absl::StrCat("node { op_type: 'Constant' output: '", name,
                                  "' attribute { name: 'value' type: TENSOR t { data_type: 7 ");
  if (!scalar) absl::StrAppend(&text, "dims: ", values.size(), " ");
  for (const int64_t value : values) absl::StrAppend(&text, "int64_data: ", value, " ");
  return absl::StrCat(text, "} } } ");
}

std::vector<double> ValuesAt(const HostTensor& x, const std::vector<int64_t>& places) {
  std::vector<double> values;
  for (const int64_t place : places) values.push_back(x.At(place));
  return values;
}

const CountedFollower kFollowers[] = {
    {"node { op_type: 'Neg' input: 'v' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       for (double& value : values) value = -value;
       return values;
     }},
    {"node { op_type: 'Shape' input: 'v' output: 'y' }",
     [](const HostTensor&, const std::vector<int64_t>& places) {
       return std::vector<double>{static_cast<double>(places.size())};
     }},
    {"node { op_type: 'ReduceMax' input: 'v' output: 'y' attribute { name: 'keepdims' type: INT "
     "i: 0 } }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       double most = -INFINITY;
       for (const double value : ValuesAt(x, places)) most = std::max(most, value);
       return std::vector<double>{most};
     }},
    {"node { op_type: 'ReduceSum' input: 'i' output: 'y' attribute { name: 'keepdims' type: INT "
     "i: 0 } }",
     [](const HostTensor&, const std::vector<int64_t>& places) {
       double sum = 0;
       for (const int64_t place : places) sum += static_cast<double>(place);
       return std::vector<double>{sum};
     }},
    // The mean of no elements is NaN.
    {"node { op_type: 'ReduceMean' input: 'v' output: 'y' attribute { name: 'keepdims' type: INT "
     "i: 0 } }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       double sum = 0;
       for (const double value : ValuesAt(x, places)) sum += value;
       const double rounded = static_cast<float>(sum);
       return std::vector<double>{static_cast<float>(rounded / static_cast<double>(places.size()))};
     }},
    // The first 4 at most: a count that is cut, as after suppression.
    {"node { op_type: 'Slice' input: 'v' input: 'zero' input: 'four' input: 'zero' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       values.resize(std::min<size_t>(values.size(), 4));
       return values;
     }},
    // The last 3 at most.
    {"node { op_type: 'Slice' input: 'v' input: 'minus3' input: 'huge' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       values.erase(values.begin(), values.end() - std::min<int64_t>(3, std::ssize(values)));
       return values;
     }},
    // All but the last, without the first 2.
    {"node { op_type: 'Slice' input: 'v' input: 'two' input: 'minus' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       const std::vector<double> values = ValuesAt(x, places);
       std::vector<double> cut;
       for (int64_t i = 2; i < std::ssize(values) - 1; ++i) cut.push_back(values[i]);
       return cut;
     }},
    // In reverse; and every second one from the second on.
    {"node { op_type: 'Slice' input: 'v' input: 'huge' input: 'least' input: 'zero' input: 'minus' "
     "output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       std::reverse(values.begin(), values.end());
       return values;
     }},
    {"node { op_type: 'Slice' input: 'v' input: 'one' input: 'huge' input: 'zero' input: 'two' "
     "output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       const std::vector<double> values = ValuesAt(x, places);
       std::vector<double> cut;
       for (size_t i = 1; i < values.size(); i += 2) cut.push_back(values[i]);
       return cut;
     }},
    // The rest of x after as many as there are places.
    {"node { op_type: 'Shape' input: 'v' output: 'n' } "
     "node { op_type: 'Slice' input: 'x' input: 'n' input: 'huge' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> rest;
       for (int64_t i = std::ssize(places); i < x.num_elements(); ++i) rest.push_back(x.At(i));
       return rest;
     }},
    // The best 4 at most: k from data, as torchvision writes it.
    {"node { op_type: 'Shape' input: 'v' output: 'n' } "
     "node { op_type: 'Concat' input: 'n' input: 'four' output: 'both' attribute { name: 'axis' "
     "type: INT i: 0 } } "
     "node { op_type: 'ReduceMin' input: 'both' output: 'k' } "
     "node { op_type: 'TopK' input: 'v' input: 'k' output: 'y' output: 'at' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       std::sort(values.rbegin(), values.rend());
       values.resize(std::min<size_t>(values.size(), 4));
       return values;
     }},
    // Elements one after the other, of which every part has fill of its own.
    {"node { op_type: 'Concat' input: 'v' input: 'x' input: 'v' output: 'y' attribute { name: "
     "'axis' type: INT i: 0 } }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       const std::vector<double> values = ValuesAt(x, places);
       std::vector<double> joined = values;
       for (int64_t i = 0; i < x.num_elements(); ++i) joined.push_back(x.At(i));
       joined.insert(joined.end(), values.begin(), values.end());
       return joined;
     }},
    // Places of places: a second condition after the first.
    {"node { op_type: 'Less' input: 'v' input: 'half' output: 'less' } "
     "node { op_type: 'NonZero' input: 'less' output: 'z2' } "
     "node { op_type: 'Squeeze' input: 'z2' input: 'zero' output: 'i2' } "
     "node { op_type: 'Gather' input: 'v' input: 'i2' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values;
       for (const double value : ValuesAt(x, places)) {
         if (value < 0.5) values.push_back(value);
       }
       return values;
     }},
    // A shape that depends on data, and back to one dimension.
    {"node { op_type: 'Unsqueeze' input: 'v' input: 'one' output: 'u' } "
     "node { op_type: 'Shape' input: 'v' output: 'n' } "
     "node { op_type: 'Concat' input: 'n' input: 'two' output: 'to' attribute { name: 'axis' type: "
     "INT i: 0 } } "
     "node { op_type: 'Expand' input: 'u' input: 'to' output: 'e' } "
     "node { op_type: 'Reshape' input: 'e' input: 'minus' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values;
       for (const double value : ValuesAt(x, places)) values.insert(values.end(), 2, value);
       return values;
     }},
    // Written back to where they were, once more by one: fill must not be written.
    {"node { op_type: 'Neg' input: 'v' output: 'w' } "
     "node { op_type: 'ScatterElements' input: 'x' input: 'i' input: 'w' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values;
       for (int64_t i = 0; i < x.num_elements(); ++i) values.push_back(x.At(i));
       for (const int64_t place : places) values[static_cast<size_t>(place)] *= -1;
       return values;
     }},
    {"node { op_type: 'Transpose' input: 'z' output: 't' } "
     "node { op_type: 'Neg' input: 'v' output: 'w' } "
     "node { op_type: 'ScatterND' input: 'x' input: 't' input: 'w' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values;
       for (int64_t i = 0; i < x.num_elements(); ++i) values.push_back(x.At(i));
       for (const int64_t place : places) values[static_cast<size_t>(place)] *= -1;
       return values;
     }},
    // Written to the first of two rows of as many, the sum of which is read.
    {"node { op_type: 'Unsqueeze' input: 'v' input: 'zero' output: 'u' } "
     "node { op_type: 'Concat' input: 'u' input: 'u' output: 'd' attribute { name: 'axis' type: "
     "INT i: 0 } } "
     "node { op_type: 'Add' input: 'u' input: 'u' output: 'w' } "
     "node { op_type: 'Shape' input: 'u' output: 'n' } "
     "node { op_type: 'Expand' input: 'nought' input: 'n' output: 'first' } "
     "node { op_type: 'ScatterElements' input: 'd' input: 'first' input: 'w' output: 's' } "
     "node { op_type: 'ReduceSum' input: 's' input: 'zero' output: 'y' attribute { name: "
     "'keepdims' type: INT i: 0 } }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       for (double& value : values) value = static_cast<float>(3 * value);
       return values;
     }},
    // Each is an image of one pixel that becomes two.
    {"node { op_type: 'Reshape' input: 'v' input: 'images' output: 'u' } "
     "node { op_type: 'Constant' output: 'scales' attribute { name: 'value_floats' type: FLOATS "
     "floats: [1, 1, 1, 2] } } "
     "node { op_type: 'Resize' input: 'u' input: '' input: 'scales' output: 'r' } "
     "node { op_type: 'Reshape' input: 'r' input: 'minus' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values;
       for (const double value : ValuesAt(x, places)) values.insert(values.end(), 2, value);
       return values;
     }},
    // Sampled at places between -1 and 1 of a row of 12 pixels.
    {"node { op_type: 'Reshape' input: 'x' input: 'pixels' output: 'image' } "
     "node { op_type: 'Unsqueeze' input: 'v' input: 'one' output: 'u' } "
     "node { op_type: 'Sub' input: 'u' input: 'u' output: 'o' } "
     "node { op_type: 'Concat' input: 'u' input: 'o' output: 'p' attribute { name: 'axis' type: "
     "INT i: 1 } } "
     "node { op_type: 'Reshape' input: 'p' input: 'points' output: 'grid' } "
     "node { op_type: 'GridSample' input: 'image' input: 'grid' output: 's' attribute { name: "
     "'mode' "
     "type: STRING s: 'nearest' } } "
     "node { op_type: 'Reshape' input: 's' input: 'minus' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       for (double& value : values) {
         const auto pixel = static_cast<int64_t>(std::nearbyint((value + 1) * 6 - 0.5));
         value = pixel < 12 ? x.At(pixel) : 0;
       }
       return values;
     }},
    // Sampled at a place that is made of their number, whose range is known.
    {"node { op_type: 'Size' input: 'v' output: 'n' } "
     "node { op_type: 'Cast' input: 'n' output: 'f' attribute { name: 'to' type: INT i: 1 } } "
     "node { op_type: 'Constant' output: 'sixteenth' attribute { name: 'value_float' type: FLOAT "
     "f: 0.0625 } } "
     "node { op_type: 'Add' input: 'f' input: 'half' output: 'a' } "
     "node { op_type: 'Mul' input: 'a' input: 'sixteenth' output: 'p' } "
     "node { op_type: 'Reshape' input: 'p' input: 'one' output: 'r' } "
     "node { op_type: 'Concat' input: 'r' input: 'r' output: 'c' attribute { name: 'axis' type: "
     "INT i: 0 } } "
     "node { op_type: 'Reshape' input: 'c' input: 'points' output: 'grid' } "
     "node { op_type: 'Reshape' input: 'x' input: 'pixels' output: 'image' } "
     "node { op_type: 'GridSample' input: 'image' input: 'grid' output: 's' attribute { name: "
     "'mode' type: STRING s: 'nearest' } } "
     "node { op_type: 'Reshape' input: 's' input: 'minus' output: 'y' }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       const double place = (static_cast<double>(places.size()) + 0.5) / 16;
       const auto pixel = static_cast<int64_t>(std::nearbyint((place + 1) * 6 - 0.5));
       return std::vector<double>{x.At(pixel)};
     }},
    {"node { op_type: 'Transpose' input: 'z' output: 't' } "
     "node { op_type: 'GatherND' input: 'x' input: 't' output: 'y' }",
     ValuesAt},
    // "If there is none": the branches have other sizes.
    {"node { op_type: 'Size' input: 'v' output: 'n' } "
     "node { op_type: 'Equal' input: 'n' input: 'nought' output: 'none' } "
     "node { op_type: 'If' input: 'none' output: 'y' "
     "attribute { name: 'then_branch' type: GRAPH g { name: 'a' node { op_type: 'Identity' input: "
     "'x' output: 'ya' } output { name: 'ya' } } } "
     "attribute { name: 'else_branch' type: GRAPH g { name: 'b' node { op_type: 'Neg' input: 'v' "
     "output: 'yb' } output { name: 'yb' } } } }",
     [](const HostTensor& x, const std::vector<int64_t>& places) {
       std::vector<double> values = ValuesAt(x, places);
       for (double& value : values) value = -value;
       for (int64_t i = 0; places.empty() && i < x.num_elements(); ++i) values.push_back(x.At(i));
       return values;
     }},
};

TEST(CountedResults, ReadersTakeNoFillForAnElement) {
  std::mt19937_64 random(44);
  std::uniform_real_distribution<float> uniform(0, 1);
  const std::string constants =
      ConstantText("zero", {0}, false) + ConstantText("one", {1}, false) +
      ConstantText("two", {2}, false) + ConstantText("four", {4}, false) +
      ConstantText("minus", {-1}, false) + ConstantText("minus3", {-3}, false) +
      ConstantText("huge", {INT64_MAX}, false) + ConstantText("least", {INT64_MIN}, false) +
      ConstantText("nought", {0}, true) + ConstantText("pixels", {1, 1, 1, 12}, false) +
      ConstantText("points", {1, -1, 1, 2}, false) + ConstantText("images", {-1, 1, 1, 1}, false) +
      "node { op_type: 'Constant' output: 'half' attribute { name: 'value_float' type: FLOAT f: "
      "0.5 "
      "} } node { op_type: 'Constant' output: 'nil' attribute { name: 'value_float' type: FLOAT f: "
      "0 "
      "} } node { op_type: 'Greater' input: 'x' input: 'nil' output: 'positive' } "
      "node { op_type: 'NonZero' input: 'positive' output: 'z' } ";
  for (const CountedFollower& follower : kFollowers) {
    const Graph graph = Value(ReadText(
        CountedModel(absl::StrCat(constants, kRow, follower.nodes, " "), {12}, kOnnxFloat)));
    LoadedModel loaded(graph);
    for (const double share : {0.0, 0.1, 0.5, 1.0}) {
      SCOPED_TRACE(absl::StrCat(share, " of ", follower.nodes));
      HostTensor x = HostTensor::Zeros(DType::kFloat32, {12});
      std::vector<int64_t> places;
      for (int64_t i = 0; i < 12; ++i) {
        const bool positive = uniform(random) < share;
        x.Set(i, (positive ? 1 : -1) * (0.01 + uniform(random)));
        if (positive) places.push_back(i);
      }
      const std::vector<double> expected = follower.expected(x, places);
      for (const auto& results :
           {Value(EvaluateGraph(graph, {{"x", x}})), loaded.Run({{"x", x}})}) {
        NamedTensors named;
        for (size_t i = 0; i < results.size(); ++i) {
          named.emplace_back(graph.outputs()[i].name, results[i]);
        }
        const HostTensor y = CutToCounts(std::move(named), graph)[0].second;
        std::vector<double> got;
        for (int64_t i = 0; i < y.num_elements(); ++i) got.push_back(y.At(i));
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) {
          EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
              << got[i] << ", expected " << expected[i];
        }
      }
    }
  }
}

TEST(CountedResults, ABoundThatIsTooSmallIsAnErrorOfTheRun) {
  const std::string text = CountedModel(NonZeroText("y"), {6}, kOnnxFloat);
  OnnxReadOptions options;
  options.bounds["y"] = 2;
  const Graph graph = Value(ReadText(text, options));
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {6});
  x.Set(1, 1);
  x.Set(4, 1);
  const auto results = Value(EvaluateGraph(graph, {{"x", x}}));
  EXPECT_EQ(results[0].shape(), (Shape{1, 2}));
  EXPECT_EQ(results[1].IntegerAt(0), 2);
  x.Set(5, 1);
  const absl::Status status = EvaluateGraph(graph, {{"x", x}}).status();
  EXPECT_TRUE(FailsWith(status, "more than the 2 that are planned for"));
  EXPECT_TRUE(FailsWith(status, "NonZero"));
  options.bounds["nobody"] = 2;
  EXPECT_TRUE(FailsWith(ReadText(text, options).status(), "'nobody'"));
}

// Regression: a k that is an input was refused.
TEST(CountedResults, TopKOfAnInputHasAsManyAsItSays) {
  const std::string text = absl::StrCat(
      "ir_version: 8 opset_import { version: 17 } graph { name: 'g' "
      "node { op_type: 'TopK' input: 'x' input: 'k' output: 'y' output: 'i' "
      "attribute { name: 'axis' type: INT i: 0 } } input ",
      ValueText("x", {5, 2}, kOnnxFloat), "input ", ValueText("k", {1}, kOnnxInt64),
      "output { name: 'y' } output { name: 'i' } }");
  const Graph graph = Value(ReadText(text));
  const auto at = [](int64_t k) {
    const HostTensor x =
        HostTensor::FromValues<float>(DType::kFloat32, {5, 2}, {1, 9, 5, 2, 3, 7, 4, 4, 2, 8});
    return InputTensors{{"x", x}, {"k", HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {k})}};
  };
  const auto evaluated = [&](const Graph& of, int64_t k) {
    const InputTensors inputs = at(k);
    return EvaluateGraph(of, {inputs.begin(), inputs.end()});
  };
  const std::vector<double> sorted = {5, 9, 4, 8, 3, 7, 2, 4, 1, 2},
                            from = {1, 0, 3, 4, 2, 2, 4, 3, 0, 1};
  for (const int64_t k : {0, 1, 3, 5}) {
    SCOPED_TRACE(k);
    const auto results = LoadedModel(graph).Run(at(k));
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(results[0].shape(), Shape({5, 2}));
    EXPECT_EQ(results[2].IntegerAt(0), k);
    EXPECT_EQ(results[3].IntegerAt(0), k);
    for (int64_t i = 0; i < 2 * k; ++i) {
      EXPECT_EQ(results[0].At(i), sorted[static_cast<size_t>(i)]) << i;
      EXPECT_EQ(results[1].At(i), from[static_cast<size_t>(i)]) << i;
    }
  }
  EXPECT_TRUE(FailsWith(evaluated(graph, 6).status(), "k is 6, expected at most 5"));
  EXPECT_TRUE(FailsWith(evaluated(graph, -1).status(), "k is -1, expected 0 to 5"));
  OnnxReadOptions options;
  options.bounds["y"] = 2;
  const Graph bounded = Value(ReadText(text, options));
  EXPECT_EQ(Value(evaluated(bounded, 2))[0].shape(), Shape({2, 2}));
  EXPECT_TRUE(FailsWith(evaluated(bounded, 3).status(), "k (--bound) is 3, expected at most 2"));
}

// They would take the count of elements for 6, or fill for elements.
TEST(CountedResults, OtherReadersAreRefusedByName) {
  for (const char* reader : {"Det", "ReverseSequence", "Softmax", "ArgMax"}) {
    const auto graph =
        ReadText(CountedModel(absl::StrCat(NonZeroText("z"), "node { op_type: '", reader,
                                           "' input: 'z' output: 'y' name: 'after' } "),
                              {2, 3}, kOnnxFloat));
    EXPECT_TRUE(FailsWith(graph.status(), reader));
    EXPECT_TRUE(FailsWith(graph.status(), "depends on data"));
  }
}

// Names tell nothing: a model may have such outputs of its own.
TEST(CountedResults, AnOutputWithTheNameOfACountIsNone) {
  const Graph graph = Value(ReadText(
      CountedModel(NonZeroText("y") + "node { op_type: 'Size' input: 'x' output: 'y.count1' } "
                                      "node { op_type: 'Identity' input: 'x' output: 'x2' } "
                                      "node { op_type: 'Size' input: 'x' output: 'x2.count' } ",
                   {3}, kOnnxFloat,
                   "output { name: 'y' } output { name: 'y.count1' } output { name: 'x2' } "
                   "output { name: 'x2.count' }")));
  ASSERT_EQ(graph.outputs().size(), 5u);
  EXPECT_EQ(graph.outputs()[4].name, "y.count1_");
  const std::vector<CountedOutput> counted = CountedOutputsOf(graph);
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(counted[0].output, 0u);
  EXPECT_EQ(counted[0].count, 4u);
  EXPECT_EQ(counted[0].axis, 1);
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {3});
  x.Set(1, 1);
  NamedTensors named;
  const auto results = LoadedModel(graph).Run({{"x", x}});
  for (size_t i = 0; i < results.size(); ++i)
    named.emplace_back(graph.outputs()[i].name, results[i]);
  named = CutToCounts(std::move(named), graph);
  EXPECT_EQ(named[0].second.shape(), (Shape{1, 1}));
  EXPECT_EQ(named[1].second.IntegerAt(0), 3);
  EXPECT_EQ(named[2].second.shape(), (Shape{3}));
}

}  // namespace
}  // namespace ashlar::testing
