// Results whose sizes depend on data: planned for the largest size, with a count beside.
#include <gtest/gtest.h>

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

// Expects what the text of ONNX says: the indices of elements that are not 0, in row-major order.
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
      EXPECT_EQ(graph.outputs()[1].name, "y.count");
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

// The count of elements would be taken for 6, or fill for elements.
TEST(CountedResults, OtherReadersAreRefusedByName) {
  for (const char* reader : {"Shape", "Neg", "Size", "ReduceMax"}) {
    const auto graph =
        ReadText(CountedModel(absl::StrCat(NonZeroText("z"), "node { op_type: '", reader,
                                           "' input: 'z' output: 'y' name: 'after' } "),
                              {2, 3}, kOnnxFloat));
    EXPECT_TRUE(FailsWith(graph.status(), "the size of 'z' depends on data"));
    EXPECT_TRUE(FailsWith(graph.status(), reader));
  }
}

TEST(CountedResults, ACountNeedsAFreeName) {
  const auto graph = ReadText(
      CountedModel(NonZeroText("y") + "node { op_type: 'Neg' input: 'x' output: 'y.count' } ", {2},
                   kOnnxFloat, "output { name: 'y' } output { name: 'y.count' }"));
  EXPECT_TRUE(FailsWith(graph.status(), "has the name of the count"));
}

}  // namespace
}  // namespace ashlar::testing
